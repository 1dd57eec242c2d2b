import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { failureFrom } from "../api/call.ts";
import { IconButton } from "./button.tsx";

interface Toast {
  id: number;
  text: string;
  tone: "good" | "bad";
}

const toasts = signal<readonly Toast[]>([]);
let last_id = 0;

/** How long something good is shown; what went wrong stays until it is closed. */
const SHOWN_MS = 6_000;

/** Says what happened, at the edge of the page and to screen readers. */
export function say(text: string, tone: Toast["tone"] = "good"): void {
  const id = ++last_id;
  toasts.value = [...toasts.value, { id, text, tone }];
  if (tone === "good") setTimeout(close, SHOWN_MS, id);
}

/** Does what has neither a page nor a dialog of its own: why it was refused is said, too. */
export function attempt(work: Promise<unknown>): void {
  work.catch((error: unknown) => say(failureFrom(error).message, "bad"));
}

function close(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

/** Where these are said: once on a page. Above dialogs too. */
export function Toasts() {
  const place = useRef<HTMLDivElement>(null);
  const { value: shown } = toasts;
  useEffect(() => {
    const element = place.current;
    // Shown anew, it is above what was opened since.
    if (element?.matches(":popover-open")) element.hidePopover();
    if (shown.length > 0) element?.showPopover();
  }, [shown]);
  return (
    <>
      {/* Always there: what appears together with its text is not read out everywhere. */}
      <div class="unseen" role="status">
        {shown.at(-1)?.text}
      </div>
      <div ref={place} class="toasts" popover="manual">
        {shown.map(({ id, text, tone }) => (
          <div key={id} class={`toast ${tone}`}>
            <span>{text}</span>
            <IconButton icon="close" label="Close" onClick={() => close(id)} />
          </div>
        ))}
      </div>
    </>
  );
}
