import { useLocation } from "preact-iso";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Endpoint } from "../api/call.ts";
import { write } from "../api/cache.ts";
import { Button } from "./button.tsx";
import { Confirm } from "./dialog.tsx";
import { edited, readAnew } from "./edited.ts";
import { FormDialog, type FormState, type Values } from "./form.tsx";
import { say } from "./toast.tsx";
import { isolated } from "../text/isolated.ts";

/** What is done to a record on its page: its fields are edited, it is deleted, and what is its own between. */
export function RecordActs<T extends { id: number; name: string }>(props: {
  of: T;
  /** What it is, in lower case. */
  noun: string;
  edit: {
    /** The button; "Edit" unless only the name can change. */
    act?: string;
    schema: string;
    to: Endpoint<unknown>;
    /** How it is read again before it is saved. */
    from: Endpoint<T>;
    /** Its fields as the form has them. */
    values: (of: T) => Values;
    /** What is sent for required texts that were left empty. */
    blank?: Values;
    note?: string;
    fields: (form: FormState) => ComponentChildren;
  };
  remove: {
    to: Endpoint<unknown>;
    /** Where one goes then: its list. */
    list: string;
    /** What goes with it, and what stays. */
    effects: string;
  };
  children?: ComponentChildren;
}) {
  const { of, noun, edit, remove, children } = props;
  const { id, name } = of;
  const { act = "Edit", to, from, values: valuesOf, blank, fields, ...form } = edit;
  const { route } = useLocation();
  const [open, setOpen] = useState<"edit" | "delete">();
  const close = () => setOpen(undefined);
  return (
    <>
      <Button onClick={() => setOpen("edit")}>{act}</Button>
      {children}
      <Button kind="danger" onClick={() => setOpen("delete")}>
        Delete
      </Button>
      {open === "edit" && (
        <FormDialog
          {...form}
          title={`${act} ${name}`}
          onClose={close}
          edited={edited(of, { fields: valuesOf, read: () => readAnew(from, { id }) })}
          submit={(values, key, if_match) => write(to, { ...blank, ...values, id }, { key, if_match })}
        >
          {fields}
        </FormDialog>
      )}
      {open === "delete" && (
        <Confirm
          title={`Delete this ${noun}?`}
          act={`Delete ${noun}`}
          name={name}
          onClose={close}
          run={async (key) => {
            await write(remove.to, { id }, { key });
            say(`${isolated(name)} is deleted`);
            route(remove.list);
          }}
        >
          <p>{remove.effects}</p>
        </Confirm>
      )}
    </>
  );
}
