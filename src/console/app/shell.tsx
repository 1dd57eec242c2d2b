import { useLocation } from "preact-iso";
import { useEffect, useRef, useState } from "preact/hooks";
import { isOutdated } from "../api/build.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { Menu, MenuItem } from "../ui/menu.tsx";
import { ROLE_NAMES } from "../ui/names.ts";
import { Toasts } from "../ui/toast.tsx";
import { DemoBanner } from "./demo.tsx";
import { BASE, firstPath, navigation } from "./find_page.ts";
import { keepFocus } from "./keep_focus.ts";
import { isHelpOpen, Keyboard } from "./keyboard.tsx";
import { WorkChips } from "./long_work.tsx";
import { isPaletteOpen, Palette } from "./palette.tsx";
import { GROUPS, type Page } from "./pages.ts";
import { company, hasEnded, me, signOut } from "./session.ts";
import { ShownPage } from "./shown_page.tsx";
import { SignInAgain } from "./sign_in.tsx";
import { setTheme, THEME_NAMES, THEMES, theme } from "./theme.ts";

/** What is around every page: header, navigation, and what is above them. */
export function Shell() {
  const { path, route } = useLocation();
  const [is_open, setOpen] = useState(false);
  useEffect(() => setOpen(false), [path]);
  useEffect(keepFocus, []);
  useEffect(() => {
    if (path === BASE || path === `${BASE}/`) route(firstPath(), true);
  }, [path]);
  return (
    <div class="shell">
      <a class="skip" href="#main">
        To the content
      </a>
      <Header onMenu={() => setOpen(!is_open)} is_open={is_open} />
      <nav class={`navigation${is_open ? " open" : ""}`} aria-label="Main" id="navigation">
        {GROUPS.map((group) => (
          <NavigationGroup key={group} title={group} path={path} />
        ))}
      </nav>
      <main id="main" tabIndex={-1}>
        <DemoBanner />
        {isOutdated.value && <Outdated />}
        <ShownPage path={path} />
      </main>
      <Toasts />
      <Keyboard route={route} />
      {isPaletteOpen.value && <Palette route={route} />}
      {hasEnded.value && <SignInAgain />}
    </div>
  );
}

function NavigationGroup({ title, path }: { title: string; path: string }) {
  const pages = navigation().filter(({ nav }) => nav?.group === title);
  if (pages.length === 0) return null;
  return (
    <div class="group">
      {title !== "" && <h2>{title}</h2>}
      <ul>
        {pages.map((page) => (
          <li key={page.path}>
            <NavigationLink page={page} path={path} is_here={page === hereOf(path)} />
          </li>
        ))}
      </ul>
    </div>
  );
}

const isWithin = (path: string, href: string) => path === href || path.startsWith(`${href}/`);

/** The page of the navigation that an address belongs to: the nearest above it, or else the one whose tab it is. */
function hereOf(path: string): Page | undefined {
  const pages = navigation();
  const above = pages.filter((page) => isWithin(path, `${BASE}${page.path}`));
  const nearest = above.toSorted((a, b) => a.path.length - b.path.length).at(-1);
  const [, , first = ""] = path.split("/");
  return nearest ?? pages.find((page) => first !== "" && page.path.startsWith(`/${first}/`));
}

function NavigationLink({ page, path, is_here }: { page: Page; path: string; is_here: boolean }) {
  const href = `${BASE}${page.path}`;
  const link = useRef<HTMLAnchorElement>(null);
  // Of a navigation that is longer than the window, the part that one is in is shown.
  useEffect(() => {
    if (is_here) link.current?.scrollIntoView({ block: "nearest" });
  }, [is_here]);
  return (
    <a
      ref={link}
      href={href}
      {...(is_here && { "aria-current": path === href ? ("page" as const) : ("true" as const) })}
    >
      {page.nav && <Icon name={page.nav.icon} />}
      {page.title}
    </a>
  );
}

function Header({ onMenu, is_open }: { onMenu: () => void; is_open: boolean }) {
  return (
    <header class="header">
      <IconButton
        class="menu-button"
        icon={is_open ? "close" : "menu"}
        label="Navigation"
        aria-expanded={is_open}
        aria-controls="navigation"
        onClick={onMenu}
      />
      <a class="brand" href={firstPath()}>
        <Icon name="usage" size={20} />
        <span>Meterhouse</span>
      </a>
      <span class="company">{company.value.name}</span>
      <WorkChips />
      <button
        type="button"
        class="find"
        onClick={() => {
          isPaletteOpen.value = true;
        }}
      >
        <Icon name="search" />
        <span>Find</span>
        <kbd>Ctrl K</kbd>
      </button>
      <UserMenu />
    </header>
  );
}

function UserMenu() {
  return (
    <Menu label={`Account of ${me.value?.email ?? ""}`} icon="user">
      <div class="menu-note">
        <strong>{me.value?.name ?? me.value?.email}</strong>
        <div class="soft">{me.value && ROLE_NAMES[me.value.role]}</div>
      </div>
      <MenuItem href={`${BASE}/account`}>My account</MenuItem>
      <MenuItem href="/docs">API documentation</MenuItem>
      <MenuItem
        onSelect={() => {
          isHelpOpen.value = true;
        }}
      >
        Keys
      </MenuItem>
      <hr />
      {THEMES.map((name) => (
        <MenuItem key={name} is_chosen={theme.value === name} onSelect={() => setTheme(name)}>
          {THEME_NAMES[name]}
        </MenuItem>
      ))}
      <hr />
      <MenuItem onSelect={() => void signOut()}>Sign out</MenuItem>
    </Menu>
  );
}

function Outdated() {
  return (
    <div class="notice" role="status">
      <p>The service has a newer version of this console.</p>
      <Button onClick={() => location.reload()}>Load it</Button>
    </div>
  );
}
