/** What may be pressed or typed into, in a dialog. */
const FIRST = ".dialog-body :is(input, select, textarea, button, a):not(:disabled)";

/**
 * Gives the focus on when what had it is gone, such as the button of an act that can't be done twice: to the dialog that is
 * open, else to the page's heading. Browsers would leave who has only a keyboard at the beginning of the document.
 */
export function keepFocus(): () => void {
  let last: EventTarget | null = null;
  const remember = ({ target }: FocusEvent) => {
    last = target;
  };
  const look = () => {
    if (!(last instanceof Node) || last.isConnected || document.activeElement !== document.body) return;
    last = null;
    const dialog = [...document.querySelectorAll("dialog[open]")].at(-1);
    const next = dialog?.querySelector<HTMLElement>(FIRST) ?? document.querySelector("h1");
    next?.focus({ preventScroll: true });
  };
  const watching = new MutationObserver(look);
  watching.observe(document.body, { childList: true, subtree: true });
  document.addEventListener("focusin", remember);
  return () => {
    watching.disconnect();
    document.removeEventListener("focusin", remember);
  };
}
