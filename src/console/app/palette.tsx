import { signal } from "@preact/signals";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Found, FoundKind } from "../../overview/search/model.ts";
import { type Endpoint, list, send } from "../api/call.ts";
import type { IconName } from "../ui/icon.tsx";
import { Icon } from "../ui/icon.tsx";
import { BASE, isMine } from "./find_page.ts";
import { PAGES } from "./pages.ts";
import { may, me, signOut } from "./session.ts";
import { setTheme, THEME_NAMES, THEMES } from "./theme.ts";
import { isolated } from "../text/isolated.ts";

export const isPaletteOpen = signal(false);

const search: Endpoint<Found[]> = list<typeof Found>("/search");
const mySearch: Endpoint<Found[]> = list<typeof Found>("/my/search");

interface Hit {
  key: string;
  name: string;
  note: string;
  icon: IconName;
  /** Where it leads, or what it does. */
  href?: string;
  act?: () => void;
}

/** The page of a found record, and its picture. */
const KINDS: Record<FoundKind, { path: string; my?: string; icon: IconName; name: string }> = {
  client: { path: "/clients/:id", icon: "clients", name: "Client" },
  product: { path: "/products/:id", icon: "products", name: "Product" },
  subscription: {
    path: "/subscriptions/:id",
    my: "/my/subscriptions/:id",
    icon: "subscriptions",
    name: "Subscription",
  },
  billing_model: { path: "/billing-models/:id", icon: "prices", name: "Billing model" },
  billing_record: { path: "/bills/:id", my: "/my/bills/:id", icon: "bills", name: "Bill" },
  user: { path: "/settings/users/:id", icon: "user", name: "User" },
  mandate: { path: "/debits/mandates/:id", icon: "debits", name: "Mandate" },
  application: { path: "/loans/:environment/applications/:id", icon: "loans", name: "Application" },
};

function recordHits(found: readonly Found[], is_client: boolean): Hit[] {
  return found.flatMap(({ kind, id, name, note, path }) => {
    const { path: company_path, my, icon, name: kind_name } = KINDS[kind];
    const pattern = is_client ? my : company_path;
    if (pattern === undefined || !PAGES.some((page) => page.path === pattern && isMine(page))) return [];
    const environment = /\/(staging|production)\//.exec(path)?.[1] ?? "production";
    const href = `${BASE}${pattern.replace(":environment", environment).replace(":id", String(id))}`;
    return [
      { key: href, name, note: note === null ? kind_name : `${kind_name} · ${isolated(note)}`, icon, href },
    ];
  });
}

/** Pages, their dialogs for new records, and what the shell does. */
function otherHits(text: string): Hit[] {
  const pages = PAGES.filter((page) => !page.path.includes(":") && isMine(page));
  const hits: Hit[] = [
    ...pages.map(({ path, title, nav }) => ({
      key: path,
      name: title,
      note: "Page",
      icon: nav?.icon ?? ("right" as const),
      href: `${BASE}${path}`,
    })),
    ...pages.flatMap(({ path, create }) =>
      create && may(create.permission)
        ? [
            {
              key: `new ${path}`,
              name: create.title,
              note: "Act",
              icon: "plus" as const,
              href: `${BASE}${path}?new=1`,
            },
          ]
        : [],
    ),
    ...THEMES.map((name) => ({
      key: `theme ${name}`,
      name: THEME_NAMES[name],
      note: "Act",
      icon: "theme" as const,
      act: () => setTheme(name),
    })),
    { key: "sign out", name: "Sign out", note: "Act", icon: "user", act: () => void signOut() },
  ];
  const words = text.toLowerCase().split(/\s+/);
  return hits.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
}

const close = () => {
  isPaletteOpen.value = false;
};

/** Finds records and pages by a part of their names: Ctrl or ⌘ K. */
export function Palette({ route }: { route: (url: string) => void }) {
  const [text, setText] = useState("");
  const [found, setFound] = useState<readonly Found[]>([]);
  const [at, setAt] = useState(0);
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  const is_client = me.value?.role === "client";
  useEffect(() => {
    element.current?.showModal();
  }, []);
  useEffect(() => {
    setAt(0);
    if (text.trim() === "") {
      setFound([]);
      return undefined;
    }
    const asking = new AbortController();
    const timer = setTimeout(() => {
      send(is_client ? mySearch : search, { q: text.trim() }, { signal: asking.signal }).then(
        ({ data }) => setFound(data),
        () => undefined,
      );
    }, 120);
    return () => {
      clearTimeout(timer);
      asking.abort();
    };
  }, [text]);
  const hits = [...recordHits(found, is_client), ...otherHits(text.trim())].slice(0, 30);
  const go = (hit: Hit | undefined) => {
    if (hit === undefined) return;
    close();
    hit.act?.();
    if (hit.href !== undefined) route(hit.href);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Enter") go(hits[at]);
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    setAt(Math.max(0, Math.min(hits.length - 1, at + (event.key === "ArrowDown" ? 1 : -1))));
  };
  return (
    <dialog
      ref={element}
      class="palette"
      aria-label="Find"
      onClose={close}
      onClick={(event) => event.target === element.current && close()}
    >
      <input
        role="combobox"
        aria-label="Find records and pages"
        aria-expanded={true}
        aria-controls={id}
        {...(hits.length > 0 && { "aria-activedescendant": `${id}-${at}` })}
        placeholder="Find records and pages"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={press}
      />
      <ul id={id} role="listbox" aria-label="Found">
        {hits.map((hit, i) => (
          <li key={hit.key} id={`${id}-${i}`} role="option" aria-selected={i === at} onClick={() => go(hit)}>
            <Icon name={hit.icon} />
            <span>{hit.name}</span>
            <span class="soft">{hit.note}</span>
          </li>
        ))}
      </ul>
      {hits.length === 0 && <p class="soft">Nothing found</p>}
    </dialog>
  );
}
