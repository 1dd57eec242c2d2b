import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Failure, failureFrom } from "../api/call.ts";
import { Button, IconButton } from "./button.tsx";
import { Dialog, useSubmit } from "./dialog.tsx";
import { type Edited, overtaken } from "./edited.ts";
import { isObject, isSame, merge, type Values } from "./merge.ts";
import { type FieldSchema, mayBeNull, requiredOf, schemaIn, schemaOf } from "./schemas.ts";
import { FailureNotice } from "./states.tsx";

export type { Values } from "./merge.ts";

/** What the fields of a form share: of its whole body, or of an object inside of it. */
export interface FormState {
  values: Values;
  set: (changes: Values) => void;
  schema: FieldSchema | undefined;
  /** What the service said of a field. */
  problemOf: (name: string) => string | undefined;
}

interface FormProps {
  schema?: string;
  initial?: Values;
  /** In place of `initial`: what is there already. Only what was changed is sent. */
  edited?: Edited;
  act: string;
  kind?: "primary" | "danger";
  /** Sends it; `key` is the submission's Idempotency-Key, `if_match` the ETag of the record that was `edited`. */
  submit: (values: Values, key: string, if_match?: string) => Promise<unknown>;
  onDone?: () => void;
  onCancel?: () => void;
  /** Shown between the fields and the button: what would happen. */
  effects?: (values: Values) => ComponentChildren;
  children: (form: FormState) => ComponentChildren;
}

/**
 * A form over a body of the interface. Required fields, bounds and help are those of the schema named `schema`; the
 * service judges, and what it says of a field stands at the field. Each submission counts once, however often it is
 * clicked or sent again.
 */
export function Form(props: FormProps) {
  const { act, kind = "primary", submit: run, onDone, onCancel, effects, children } = props;
  const schema = schemaOf(props.schema);
  const { values, setValues, bodyFor, forget, follow } = useValues(props, schema);
  const { submit, is_busy, failure } = useSubmit(async (key) => {
    await sendUntilMatched(async () => {
      const { body, etag } = await bodyFor(key);
      return run(body, key, etag);
    }, forget);
    // A form that stays goes on from what is there now.
    if (onDone === undefined) await follow();
  }, onDone);
  const body = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (failure) body.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [failure]);
  // Filled by the fields while they are drawn, read by what is drawn after them.
  const shown = new Set<string>();
  const form = stateAt("", values, schema, {
    update: setValues,
    problemAt: (pointer) => {
      shown.add(pointer);
      return failure?.details.find(({ path }) => path === pointer)?.message;
    },
  });
  return (
    <form
      ref={body}
      class="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {children(form)}
      {effects?.(values)}
      {failure && <FormFailure failure={failure} shown={shown} />}
      <div class="actions end">
        {onCancel && <Button onClick={onCancel}>Cancel</Button>}
        <Button kind={kind} type="submit" is_busy={is_busy}>
          {act}
        </Button>
      </div>
    </form>
  );
}

/** How often a form reads a record again that others change at the same moment, before it says so. */
const MOST_TRIES = 5;

/** Sends a change again, made anew, where somebody else was faster between reading the record and saving it. */
async function sendUntilMatched(act: () => Promise<unknown>, forget: () => void): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await act();
      return;
    } catch (error) {
      if (failureFrom(error).status !== 412 || tries === MOST_TRIES) throw error;
      forget();
    }
  }
}

/** What is typed into a form, and the body that it comes to. */
function useValues({ initial = {}, edited }: FormProps, schema: FieldSchema | undefined) {
  const [base, setBase] = useState<Values>(edited?.initial ?? initial);
  const [values, setValues] = useState<Values>(base);
  const made = useRef<{ key: string; body: Values; etag?: string | undefined }>(undefined);
  const goOnFrom = (there: Values, shown = there) => {
    setBase(there);
    setValues(shown);
  };
  const bodyOf = async (): Promise<{ body: Values; etag?: string | undefined }> => {
    if (edited === undefined) return { body: sent(values, base, schema) };
    const { data: theirs, etag } = await edited.read();
    const merged = merge(base, values, theirs);
    if (merged.conflicts.length > 0) {
      goOnFrom(theirs, merged.values);
      throw overtaken(merged.conflicts);
    }
    const body = sent(merged.values, theirs, schema);
    if (edited.is_replaced || schema === undefined) return { body, etag };
    const needed = new Set(requiredOf(schema));
    const changed = ([name]: [string, unknown]) =>
      needed.has(name) || !isSame(merged.values[name], theirs[name]);
    return { body: Object.fromEntries(Object.entries(body).filter(changed)), etag };
  };
  return {
    values,
    setValues,
    /** The body of a submission; that of a repeat is the first one's, whatever was saved meanwhile. */
    bodyFor: async (key: string) => {
      if (made.current?.key !== key) made.current = { key, ...(await bodyOf()) };
      return made.current;
    },
    /** The body was refused: the next one is made anew. */
    forget: () => (made.current = undefined),
    follow: async () => {
      if (edited) goOnFrom((await edited.read()).data);
    },
  };
}

/** A form in a dialog of its own, which is closed once it was sent. */
export function FormDialog({
  title,
  note,
  onClose,
  act = "Save",
  ...form
}: Omit<FormProps, "act" | "onCancel"> & {
  title: string;
  note?: string;
  onClose: () => void;
  act?: string;
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      {note !== undefined && <p class="soft">{note}</p>}
      <Form onDone={onClose} {...form} act={act} onCancel={onClose} />
    </Dialog>
  );
}

/** A refusal, with what it says of fields that the form does not show. */
function FormFailure({ failure, shown }: { failure: Failure; shown: ReadonlySet<string> }) {
  const others = failure.details.filter(({ path }) => !shown.has(path));
  return (
    <>
      <FailureNotice failure={failure} />
      {others.length > 0 && (
        <ul class="problems">
          {others.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              {path !== "" && <code>{path}</code>} {message}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** What is sent: without what was left empty, and with null where something was taken away. */
function sent(values: Values, initial: Values, schema: FieldSchema | undefined): Values {
  const body = given(values, schema);
  for (const [name, value] of Object.entries(values)) {
    const was_empty = initial[name] === undefined || initial[name] === null || initial[name] === "";
    if (value !== "" || was_empty || name in body) continue;
    body[name] = mayBeNull(schema, name) === false ? "" : null;
  }
  return body;
}

/** Objects and rows are replaced as a whole: what is empty in them is not there. */
export function cleaned(value: unknown, schema?: FieldSchema): unknown {
  if (Array.isArray(value)) {
    const row = schemaIn(schema, "items");
    return value.map((item) => cleaned(item, row));
  }
  return isObject(value) ? given(value, schema) : value;
}

/** What is given of an object; null where the interface wants to be told that there is nothing. */
function given(values: Values, schema: FieldSchema | undefined): Values {
  const body: Values = {};
  for (const name of requiredOf(schema)) if (mayBeNull(schema, name)) body[name] = null;
  for (const [name, value] of Object.entries(values))
    if (value !== undefined && value !== "") body[name] = cleaned(value, schemaIn(schema, name));
  return body;
}

interface Shared {
  /** By what is there, not by what was drawn: two changes in one turn are both kept. */
  update: (change: (values: Values) => Values) => void;
  problemAt: (pointer: string) => string | undefined;
}

/** What the states inside of a state need, unseen by fields. */
const shared = new WeakMap<FormState, Shared & { pointer: string }>();

function stateAt(pointer: string, values: Values, schema: FieldSchema | undefined, from: Shared): FormState {
  const state: FormState = {
    values,
    schema,
    set: (changes) => from.update((before) => ({ ...before, ...changes })),
    problemOf: (name) => from.problemAt(`${pointer}/${name}`),
  };
  shared.set(state, { ...from, pointer });
  return state;
}

function sharedOf(form: FormState): Shared & { pointer: string } {
  const found = shared.get(form);
  if (found === undefined) throw new Error("This is not the state of a form");
  return found;
}

const objectIn = (value: unknown): Values => (isObject(value) ? value : {});
const rowsIn = (value: unknown): Values[] => (Array.isArray(value) ? value.map(objectIn) : []);

/** The state of an object inside of a form's body: `within(form, "self_service")`. */
export function within(form: FormState, name: string): FormState {
  const { pointer, problemAt, update } = sharedOf(form);
  return stateAt(`${pointer}/${name}`, objectIn(form.values[name]), schemaIn(form.schema, name), {
    problemAt,
    update: (change) => update((before) => ({ ...before, [name]: change(objectIn(before[name])) })),
  });
}

/** Rows of an array in the body, such as tiers: each has fields of its own, is added and taken away. */
export function Rows(props: {
  form: FormState;
  name: string;
  label: string;
  /** The button: "Add tier". */
  add: string;
  /** What a new row has. */
  blank?: Values;
  /** How many there are at least; those have no button that takes them away. */
  at_least?: number;
  at_most?: number;
  children: (row: FormState, index: number) => ComponentChildren;
}) {
  const { form, name, label, add, blank = {}, at_least = 0, at_most = Infinity, children } = props;
  const rows = rowsIn(form.values[name]);
  const adder = useRef<HTMLDivElement>(null);
  // A row keeps its fields' own state when one before it is taken away.
  const keys = useRef<number[]>([]);
  while (keys.current.length < rows.length) keys.current.push(last_key++);
  const { pointer, problemAt, update } = sharedOf(form);
  const schema = schemaIn(schemaIn(form.schema, name), "items");
  const change = (by: (rows: Values[]) => Values[]) =>
    update((before) => ({ ...before, [name]: by(rowsIn(before[name])) }));
  const takeAway = (index: number) => {
    keys.current = keys.current.toSpliced(index, 1);
    change((before) => before.toSpliced(index, 1));
    adder.current?.querySelector("button")?.focus();
  };
  const problem = form.problemOf(name);
  return (
    <fieldset class="rows">
      <legend>{label}</legend>
      {problem !== undefined && <p class="problem">{problem}</p>}
      {rows.map((row, index) => (
        <div key={keys.current[index]} class="row" role="group" aria-label={`${label} ${index + 1}`}>
          <div class="row-fields">
            {children(
              stateAt(`${pointer}/${name}/${index}`, row, schema, {
                problemAt,
                update: (by) => change((before) => before.with(index, by(objectIn(before[index])))),
              }),
              index,
            )}
          </div>
          {rows.length > at_least && (
            <IconButton icon="trash" label={`Remove ${index + 1}`} onClick={() => takeAway(index)} />
          )}
        </div>
      ))}
      <div ref={adder}>
        {rows.length < at_most && (
          <Button icon="plus" onClick={() => change((before) => [...before, { ...blank }])}>
            {add}
          </Button>
        )}
      </div>
    </fieldset>
  );
}

let last_key = 0;
