import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icon.tsx";
import { usePopup } from "./popup.ts";

/** Acts behind a button. Arrow keys move, Escape closes. */
export function Menu(props: {
  label: string;
  icon?: IconName;
  /** Beside the picture. */
  text?: string;
  children: ComponentChildren;
}) {
  const { label, icon = "more", text, children } = props;
  const [is_open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const items = useRef<HTMLDivElement>(null);
  const id = useId();
  usePopup(is_open, button, items, { side: "right" });
  useLayoutEffect(() => {
    if (is_open) itemsIn(items.current)[0]?.focus();
  }, [is_open]);
  useEffect(() => {
    if (!is_open) return undefined;
    const onDown = ({ target }: PointerEvent) => {
      if (!(target instanceof Node)) return;
      if (!items.current?.contains(target) && !button.current?.contains(target)) setOpen(false);
    };
    document.addEventListener("pointerdown", onDown);
    return () => document.removeEventListener("pointerdown", onDown);
  }, [is_open]);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const press = (event: KeyboardEvent) => {
    const all = itemsIn(items.current);
    const at = all.findIndex((item) => item === document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (event.key === "Escape" || event.key === "Tab") close();
    // A dialog below must not close as well.
    if (event.key === "Escape" || to !== undefined) event.preventDefault();
    if (to !== undefined) all.at(to % all.length)?.focus();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        class={text === undefined ? "icon-button" : "button quiet"}
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={is_open}
        aria-controls={id}
        onClick={() => setOpen(!is_open)}
      >
        <Icon name={icon} />
        {text}
      </button>
      <div
        ref={items}
        class="popup menu"
        role="menu"
        id={id}
        aria-label={label}
        popover="manual"
        onClick={close}
        onKeyDown={press}
      >
        {is_open && children}
      </div>
    </>
  );
}

const itemsIn = (menu: HTMLElement | null) => [
  ...(menu?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? []),
];

/** One of a menu's acts, or a link; with `is_chosen` one of several of which one holds. */
export function MenuItem(props: {
  onSelect?: () => void;
  href?: string;
  is_chosen?: boolean;
  children: ComponentChildren;
}) {
  const { onSelect, href, is_chosen, children } = props;
  if (href !== undefined)
    return (
      <a role="menuitem" tabIndex={-1} href={href}>
        {children}
      </a>
    );
  if (is_chosen === undefined)
    return (
      <button type="button" role="menuitem" tabIndex={-1} onClick={onSelect}>
        {children}
      </button>
    );
  return (
    <button type="button" role="menuitemradio" aria-checked={is_chosen} tabIndex={-1} onClick={onSelect}>
      <span class="tick">{is_chosen && <Icon name="check" size={14} />}</span>
      {children}
    </button>
  );
}
