import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icon.tsx";
import { usePopup } from "./popup.ts";

/** Fields behind a button, beside the page rather than above it. Escape and a click elsewhere close it. */
export function Popover(props: {
  /** What is in it, read out. */
  label: string;
  /** What its button says. */
  text: ComponentChildren;
  icon?: IconName;
  class?: string;
  children: (close: () => void) => ComponentChildren;
}) {
  const { label, text, icon = "down", class: more = "button", children } = props;
  const [is_open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const id = useId();
  usePopup(is_open, button, panel);
  useEffect(() => {
    if (!is_open) return undefined;
    panel.current?.querySelector<HTMLElement>("input, select, button")?.focus();
    const onDown = ({ target }: PointerEvent) => {
      if (!(target instanceof Element) || button.current?.contains(target)) return;
      // A list of a field in it is a popup of its own.
      if (!target.closest("[popover]")) setOpen(false);
    };
    document.addEventListener("pointerdown", onDown);
    return () => document.removeEventListener("pointerdown", onDown);
  }, [is_open]);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        class={more}
        aria-haspopup="dialog"
        aria-expanded={is_open}
        aria-controls={id}
        onClick={() => setOpen(!is_open)}
      >
        {text}
        <Icon name={icon} />
      </button>
      <div
        ref={panel}
        id={id}
        class="popup fields"
        popover="manual"
        role="dialog"
        aria-label={label}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || event.defaultPrevented) return;
          event.stopPropagation();
          close();
        }}
      >
        {is_open && children(close)}
      </div>
    </>
  );
}
