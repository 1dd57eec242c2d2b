import type { ComponentChildren } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { IconButton } from "./button.tsx";
import type { Choice } from "./fields.tsx";
import type { QueryState } from "./query.ts";

/** The filters above a list. */
export function Filters({ children, query }: { children: ComponentChildren; query: QueryState }) {
  return (
    <div class="filters" role="search">
      {children}
      {query.is_filtered && <IconButton icon="close" label="Clear filters" onClick={query.clear} />}
    </div>
  );
}

interface FilterProps {
  query: QueryState;
  name: string;
  label: string;
}

/** Text that is looked for, once typing pauses; `/` leads to it. */
export function SearchFilter({ query, name, label }: FilterProps) {
  const id = useId();
  const current = query.values[name] ?? "";
  const [typed, setTyped] = useState(current);
  useEffect(() => setTyped(current), [current]);
  useEffect(() => {
    if (typed === current) return undefined;
    const timer = setTimeout(() => query.set({ [name]: typed, page: undefined }, true), 300);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="search"
        data-search
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
    </div>
  );
}

/** A word that must be whole, such as an operation's name: it counts once it is typed. */
export function TextFilter({ query, name, label, placeholder }: FilterProps & { placeholder?: string }) {
  const id = useId();
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="search"
        data-search
        {...(placeholder !== undefined && { placeholder })}
        value={query.values[name] ?? ""}
        onChange={(event) => query.set({ [name]: event.currentTarget.value.trim(), page: undefined })}
      />
    </div>
  );
}

/** A filter that a link set; it can be taken away. */
export function FilterChip(props: { query: QueryState; names: readonly string[]; text: string }) {
  const { query, names, text } = props;
  const none = Object.fromEntries(names.map((name) => [name, undefined]));
  return (
    <span class="chip">
      {text}
      <IconButton
        icon="close"
        label={`Without: ${text}`}
        onClick={() => query.set({ ...none, page: undefined })}
      />
    </span>
  );
}

/** One of several values, or any. */
export function SelectFilter({
  query,
  name,
  label,
  choices,
  any = "Any",
}: FilterProps & { choices: readonly Choice[]; any?: string }) {
  const id = useId();
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={query.values[name] ?? ""}
        onChange={(event) => query.set({ [name]: event.currentTarget.value, page: undefined })}
      >
        <option value="">{any}</option>
        {choices.map(({ value, label: text }) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

/** A day or a month, as the service reads them. */
export function DateFilter({ query, name, label, kind = "date" }: FilterProps & { kind?: "date" | "month" }) {
  const id = useId();
  const of_kind = kind === "date" ? ({ type: "date" } as const) : ({ type: "month" } as const);
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <input
        id={id}
        {...of_kind}
        value={query.values[name] ?? ""}
        onChange={(event) => query.set({ [name]: event.currentTarget.value, page: undefined })}
      />
    </div>
  );
}
