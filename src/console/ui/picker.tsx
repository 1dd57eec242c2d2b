import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Endpoint, failureFrom, type Input, send } from "../api/call.ts";
import { useAnswer } from "../api/cache.ts";
import { Field, type FieldProps, useField } from "./fields.tsx";
import { usePopup } from "./popup.ts";
import type { QueryState } from "./query.ts";

/** Where records are picked from. */
export interface Source<Row extends { id: number }> {
  /** Lists what may be picked. */
  from: Endpoint<Row[]>;
  /** One of them: gives what is picked already its name. */
  one: Endpoint<Row>;
  nameOf: (row: Row) => string;
  input?: Input;
  /** The field of the list that the typed text goes to. */
  search_by?: string;
}

/** The first rows for what is typed, once typing pauses, or until then those from before; undefined: nothing is asked. */
function useRows<Row extends { id: number }>(
  { from, input, search_by = "search" }: Source<Row>,
  typed: string | undefined,
) {
  const [found, setFound] = useState<{ rows: Row[]; by: string }>();
  const [trouble, setTrouble] = useState<string>();
  useEffect(() => {
    if (typed === undefined) return undefined;
    const asking = new AbortController();
    const look = async () => {
      try {
        const asked = { ...input, [search_by]: typed.trim(), page: 1, limit: 10 };
        const { data } = await send(from, asked, { signal: asking.signal });
        if (asking.signal.aborted) return;
        setFound({ rows: data, by: typed });
        setTrouble(undefined);
      } catch (error) {
        if (!asking.signal.aborted) setTrouble(failureFrom(error).message);
      }
    };
    const timer = setTimeout(() => void look(), typed === "" ? 0 : 150);
    return () => {
      clearTimeout(timer);
      asking.abort();
    };
  }, [typed]);
  return { rows: found?.rows, is_current: found?.by === typed, trouble };
}

/** The input and its list (WAI-ARIA combobox): finds records by a part of their names. */
function Combobox<Row extends { id: number }>(props: {
  source: Source<Row>;
  label: string;
  value: number | undefined;
  onPick: (id: number | undefined, row?: Row) => void;
  attributes: { id: string; [attribute: string]: unknown };
}) {
  const { source, label, value, onPick, attributes } = props;
  const { id } = attributes;
  const [typed, setTyped] = useState<string>();
  const [is_open, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const [picked, setPicked] = useState<Row>();
  const is_known = value === undefined || picked?.id === value;
  const found = useAnswer(source.one, is_known ? null : { id: value });
  const row = value === undefined ? undefined : is_known ? picked : found.answer?.data;
  const name = value === undefined ? "" : row === undefined ? `#${value}` : source.nameOf(row);
  const { rows, is_current, trouble } = useRows(source, is_open ? (typed ?? "") : undefined);
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const shows_rows = is_open && rows !== undefined;
  usePopup(shows_rows, input, list, { is_as_wide: true });
  // Before anybody sees the rows: a key that is pressed at once counts.
  useLayoutEffect(() => setAt(0), [rows]);
  const close = () => {
    setOpen(false);
    setTyped(undefined);
  };
  const pick = (chosen: Row | undefined) => {
    if (chosen === undefined) return;
    setPicked(chosen);
    close();
    onPick(chosen.id, chosen);
  };
  const press = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined) {
      event.preventDefault();
      setOpen(true);
      if (rows) setAt((now) => Math.max(0, Math.min(rows.length - 1, is_open ? now + by : 0)));
    } else if (is_open && event.key === "Enter") {
      event.preventDefault();
      // Rows of what was typed before are not what is meant.
      if (is_current) pick(rows?.[at]);
    } else if (is_open && event.key === "Escape") {
      // A dialog below must not close as well.
      event.preventDefault();
      close();
    }
  };
  return (
    <>
      <input
        {...attributes}
        ref={input}
        type="text"
        role="combobox"
        autocomplete="off"
        aria-expanded={shows_rows}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        {...(shows_rows && rows.length > 0 && { "aria-activedescendant": `${id}-${at}` })}
        value={typed ?? name}
        placeholder="Type a part of its name"
        onInput={(event) => {
          setOpen(true);
          setTyped(event.currentTarget.value);
          if (event.currentTarget.value === "") onPick(undefined);
        }}
        onClick={() => setOpen(true)}
        onFocus={(event) => event.currentTarget.select()}
        onBlur={close}
        onKeyDown={press}
      />
      <ul
        ref={list}
        id={`${id}-list`}
        class="popup options"
        role="listbox"
        aria-label={label}
        popover="manual"
        // The input keeps the focus.
        onMouseDown={(event) => event.preventDefault()}
      >
        {shows_rows &&
          rows.map((one, i) => (
            <li
              key={one.id}
              id={`${id}-${i}`}
              role="option"
              aria-selected={i === at}
              onClick={() => pick(one)}
            >
              {source.nameOf(one)}
            </li>
          ))}
        {shows_rows && rows.length === 0 && (
          <li class="soft" role="option" aria-selected={false} aria-disabled="true">
            {trouble ?? "None match"}
          </li>
        )}
      </ul>
    </>
  );
}

const numberOrNone = (value: unknown) => (typeof value === "number" ? value : undefined);

/** A field of a form that holds a record's id, picked by a part of its name. */
export function PickField<Row extends { id: number }>(
  props: FieldProps & { source: Source<Row>; onPick?: (row: Row | undefined) => void },
) {
  const used = useField(props);
  return (
    <Field label={props.label} used={used}>
      <Combobox
        source={props.source}
        label={props.label}
        attributes={used.attributes}
        value={numberOrNone(used.current)}
        onPick={(id, row) => {
          used.change(id ?? "");
          props.onPick?.(row);
        }}
      />
    </Field>
  );
}

/** A record picked outside of a form. */
export function Pick<Row extends { id: number }>(props: {
  label: string;
  source: Source<Row>;
  value: number | undefined;
  onPick: (id: number | undefined, row?: Row) => void;
}) {
  const { label, source, value, onPick } = props;
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <Combobox source={source} label={label} attributes={{ id }} value={value} onPick={onPick} />
    </div>
  );
}

/** A filter by a record. */
export function PickFilter<Row extends { id: number }>(props: {
  query: QueryState;
  name: string;
  label: string;
  source: Source<Row>;
}) {
  const { query, name, label, source } = props;
  const id = useId();
  const value = query.values[name];
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <Combobox
        source={source}
        label={label}
        attributes={{ id }}
        value={value === undefined ? undefined : Number(value)}
        onPick={(picked) =>
          query.set({ [name]: picked === undefined ? undefined : String(picked), page: undefined })
        }
      />
    </div>
  );
}
