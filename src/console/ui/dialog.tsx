import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { type Failure, failureFrom } from "../api/call.ts";
import { Button, CopyButton, IconButton } from "./button.tsx";
import { FailureNotice } from "./states.tsx";

interface Opened {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

/** What takes the focus: a field or act of the dialog, before what closes it. */
const FIRST = ".dialog-body :is(input, select, textarea, button, a):not(:disabled)";

/** A dialog above the page; `sheet` stands at its side, for what needs room. Escape closes it. */
export function Dialog(props: Opened & { kind?: "dialog" | "sheet"; is_kept?: boolean }) {
  const { title, onClose, children, kind = "dialog", is_kept = false } = props;
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = element.current;
    const opener = document.activeElement;
    dialog?.showModal();
    dialog?.querySelector<HTMLElement>(FIRST)?.focus();
    return () => {
      dialog?.close();
      // It may be gone from the page by now, and would not give the focus back.
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  const leave = () => {
    if (!is_kept) onClose();
  };
  return (
    <dialog
      ref={element}
      class={kind}
      aria-labelledby={id}
      onKeyDown={(event) => {
        // What is in it may have had the Escape. Browsers ask only once before they close it themselves.
        if (event.key !== "Escape" || event.defaultPrevented) return;
        event.preventDefault();
        leave();
      }}
      onCancel={(event) => {
        event.preventDefault();
        leave();
      }}
    >
      <div class="dialog-head">
        <h2 id={id}>{title}</h2>
        {!is_kept && <IconButton icon="close" label="Close" onClick={onClose} />}
      </div>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}

export const Sheet = (props: Opened) => <Dialog {...props} kind="sheet" />;

/**
 * An act with effects: what they are, and a button that says the act. `name` is to be typed first, for what is final or
 * wide. `act` does it; a refusal is shown in place.
 */
export function Confirm(props: {
  title: string;
  act: string;
  name?: string;
  kind?: "primary" | "danger";
  run: (key: string) => Promise<unknown>;
  onClose: () => void;
  /** After it was done, in place of `onClose`. */
  onDone?: () => void;
  children?: ComponentChildren;
}) {
  const { title, act, name, kind = "danger", run, onClose, onDone = onClose, children } = props;
  const [typed, setTyped] = useState("");
  const { submit, is_busy, failure } = useSubmit(run, onDone);
  const id = useId();
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (name === undefined || typed === name) void submit();
        }}
      >
        {children}
        {name !== undefined && (
          <div class="field">
            <label for={id}>
              Type <strong>{name}</strong> to go on
            </label>
            <input
              id={id}
              value={typed}
              autocomplete="off"
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          </div>
        )}
        {failure && <FailureNotice failure={failure} />}
        <div class="actions end">
          <Button onClick={onClose}>Keep as it is</Button>
          <Button kind={kind} type="submit" is_busy={is_busy} disabled={name !== undefined && typed !== name}>
            {act}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Runs an act once for each submission, however often it is clicked; a try again after no answer is the same one. */
export function useSubmit(run: (key: string) => Promise<unknown>, onDone?: () => void) {
  const [is_busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  const key = useRef<string | null>(null);
  const running = useRef(false);
  const submit = async () => {
    if (running.current) return;
    running.current = true;
    setBusy(true);
    key.current ??= crypto.randomUUID();
    try {
      await run(key.current);
      key.current = null;
      setFailure(undefined);
      onDone?.();
    } catch (error) {
      const refusal = failureFrom(error);
      // What was answered is settled: the next try is another submission.
      if (refusal.status !== 0 && refusal.status < 500) key.current = null;
      setFailure(refusal);
    } finally {
      running.current = false;
      setBusy(false);
    }
  };
  return { submit, is_busy, failure };
}

/** A secret that is shown once: it can be copied without being seen. */
export function SecretOnce({ title, secret, onClose, children }: Opened & { secret: string }) {
  const [is_shown, setShown] = useState(false);
  return (
    <Dialog title={title} onClose={onClose} is_kept>
      {children}
      <p class="secret">
        <code>{is_shown ? secret : "•".repeat(24)}</code>
      </p>
      <div class="actions">
        <CopyButton text={secret} />
        <Button kind="quiet" onClick={() => setShown(!is_shown)}>
          {is_shown ? "Hide" : "Show"}
        </Button>
      </div>
      <div class="actions end">
        <Button kind="primary" onClick={onClose}>
          I have kept it
        </Button>
      </div>
    </Dialog>
  );
}
