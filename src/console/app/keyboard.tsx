import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Dialog } from "../ui/dialog.tsx";
import { BASE, navigation } from "./find_page.ts";
import { isPaletteOpen } from "./palette.tsx";

const KEY = "meterhouse.single_keys";
/** Whether single letters do something; kept by this browser. */
export const singleKeys = signal(localStorage.getItem(KEY) !== "off");
export function setSingleKeys(are_on: boolean): void {
  singleKeys.value = are_on;
  localStorage.setItem(KEY, are_on ? "on" : "off");
}

export const isHelpOpen = signal(false);
/** `g` waits for its letter this long. */
const CHORD_MS = 1_500;

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** The keys of the whole console. */
export function Keyboard({ route }: { route: (url: string) => void }) {
  useEffect(() => {
    let g_at = Number.NEGATIVE_INFINITY;
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        isPaletteOpen.value = !isPaletteOpen.value;
        return;
      }
      if (!singleKeys.value || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target))
        return;
      if (document.querySelector("dialog[open]")) return;
      const is_chord = event.timeStamp - g_at < CHORD_MS;
      g_at = event.key === "g" && !is_chord ? event.timeStamp : Number.NEGATIVE_INFINITY;
      const act = is_chord ? goer(event.key, route) : ACTS[event.key];
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [route]);
  return isHelpOpen.value ? <Help /> : null;
}

const ACTS: Record<string, () => void> = {
  "/": () => document.querySelector<HTMLElement>("[data-search]")?.focus(),
  n: () => document.querySelector<HTMLElement>("[data-new]")?.click(),
  "?": () => {
    isHelpOpen.value = true;
  },
};

function goer(letter: string, route: (url: string) => void): (() => void) | undefined {
  const page = navigation().find(({ nav }) => nav?.key === letter);
  return page && (() => route(`${BASE}${page.path}`));
}

const closeHelp = () => {
  isHelpOpen.value = false;
};

function Help() {
  return (
    <Dialog title="Keys" onClose={closeHelp}>
      <dl class="facts">
        <Key keys="Ctrl or ⌘ K" does="Find records and pages" />
        <Key keys="/" does="Go to the search of this page" />
        <Key keys="n" does="New record" />
        <Key keys="?" does="This list" />
        {navigation().map(
          ({ path, title, nav }) =>
            nav?.key && <Key key={path} keys={`g then ${nav.key}`} does={`Go to ${title}`} />,
        )}
      </dl>
      <div class="field check">
        <label>
          <input
            type="checkbox"
            checked={singleKeys.value}
            onChange={(event) => setSingleKeys(event.currentTarget.checked)}
          />{" "}
          Single letters do something
        </label>
      </div>
    </Dialog>
  );
}

function Key({ keys, does }: { keys: string; does: string }) {
  return (
    <div>
      <dt>
        <kbd>{keys}</kbd>
      </dt>
      <dd>{does}</dd>
    </div>
  );
}
