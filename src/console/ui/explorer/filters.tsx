import { useEffect, useId, useState } from "preact/hooks";
import type { UsageField, UsageFilter } from "../../../usage/filters/model.ts";
import type { UsageValue } from "../../../usage/series/model.ts";
import { failureFrom, send } from "../../api/call.ts";
import { count } from "../../text/number.ts";
import { Button, IconButton } from "../button.tsx";
import { Icon } from "../icon.tsx";
import { Popover } from "../popover.tsx";
import type { ExplorerCalls } from "./calls.ts";
import { Choose, choicesOf } from "./choose.tsx";
import { type Explored, rangeOf, takesValues } from "./question.ts";
import { learnNames, useFilterNames, valueName } from "./value_names.ts";
import { fieldName, filterText, OP_NAMES } from "./words.ts";
import type { Static } from "@sinclair/typebox";

interface FiltersProps {
  of: Explored;
  fields: readonly UsageField[];
  calls: ExplorerCalls;
  onChange: (filters: UsageFilter[]) => void;
}

/** Conditions on events as chips, all of which must hold. */
export function FilterChips({ of, fields, calls, onChange }: FiltersProps) {
  const { filters } = of;
  useFilterNames(filters, calls);
  return (
    <div class="filter-chips">
      <div class="label">Filters</div>
      {filters.length > 0 && (
        <ul class="plain" aria-label="Filters">
          {filters.map((filter, i) => {
            const text = filterText(filter, (key) => valueName(filter.field, key));
            return (
              <li key={JSON.stringify(filter)} class="filter-chip">
                <Popover label={`Filter: ${text}`} text={text} class="chip-text">
                  {(close) => (
                    <FilterEditor
                      initial={filter}
                      {...{ of, fields, calls }}
                      onDone={(changed) => {
                        onChange(filters.with(i, changed));
                        close();
                      }}
                    />
                  )}
                </Popover>
                <IconButton
                  icon="close"
                  label={`Remove: ${text}`}
                  onClick={() => onChange(filters.toSpliced(i, 1))}
                />
              </li>
            );
          })}
        </ul>
      )}
      <Popover label="New filter" text="Add filter" icon="plus" class="button quiet">
        {(close) => (
          <FilterEditor
            {...{ of, fields, calls }}
            onDone={(filter) => {
              onChange([...filters, filter]);
              close();
            }}
          />
        )}
      </Popover>
    </div>
  );
}

function FilterEditor(props: {
  initial?: UsageFilter;
  of: Explored;
  fields: readonly UsageField[];
  calls: ExplorerCalls;
  onDone: (filter: UsageFilter) => void;
}) {
  const { initial, of, fields, calls, onDone } = props;
  const [field, setField] = useState<UsageField>(initial?.field ?? fields[0] ?? "subscription");
  const [op, setOp] = useState<UsageFilter["op"]>(initial?.op ?? "is");
  const [values, setValues] = useState<readonly string[]>(initial?.values ?? []);
  const all = fields.includes(field) ? fields : [...fields, field];
  const needs_values = takesValues(op);
  return (
    <form
      class="filter-editor"
      onSubmit={(event) => {
        event.preventDefault();
        onDone(needs_values ? { field, op, values: [...values] } : { field, op });
      }}
    >
      <div class="field-row">
        <Choose<UsageField>
          label="Field"
          value={field}
          choices={all.map((value) => ({ value, label: fieldName(value) }))}
          onChoose={(chosen) => {
            setField(chosen);
            setValues([]);
          }}
        />
        <Choose label="Condition" value={op} choices={choicesOf(OP_NAMES)} onChoose={setOp} />
      </div>
      {needs_values && (
        <ValuePicker key={`${field} ${op}`} {...{ of, field, op, values, calls }} onChange={setValues} />
      )}
      <div class="actions end">
        <Button kind="primary" type="submit" disabled={needs_values && values.length === 0}>
          Apply
        </Button>
      </div>
    </form>
  );
}

type Value = Static<typeof UsageValue>;

/** The values that events of this question have, as typed: the most frequent first. */
function useValues({ of, field, calls }: ValueProps, typed: string) {
  const [found, setFound] = useState<readonly Value[]>([]);
  const [trouble, setTrouble] = useState<string>();
  useEffect(() => {
    const asking = new AbortController();
    const others = of.filters.filter((filter) => filter.field !== field);
    const ask = async () => {
      try {
        const question = { field, range: rangeOf(of.range), filters: others, limit: 20 };
        const input = { ...question, ...(typed !== "" && { search: typed }) };
        const { data } = await send(calls.values, input, { signal: asking.signal });
        learnNames(field, data);
        setFound(data);
        setTrouble(undefined);
      } catch (error) {
        if (!asking.signal.aborted) setTrouble(failureFrom(error).message);
      }
    };
    const timer = setTimeout(() => void ask(), typed === "" ? 0 : 150);
    return () => {
      clearTimeout(timer);
      asking.abort();
    };
  }, [typed]);
  return { found, trouble };
}

interface ValueProps {
  of: Explored;
  field: UsageField;
  op: UsageFilter["op"];
  values: readonly string[];
  calls: ExplorerCalls;
  onChange: (values: readonly string[]) => void;
}

function ValuePicker(props: ValueProps) {
  const { field, op, values, onChange } = props;
  const [typed, setTyped] = useState("");
  const { found, trouble } = useValues(props, typed);
  const id = useId();
  const toggle = (key: string) =>
    onChange(values.includes(key) ? values.filter((value) => value !== key) : [...values, key]);
  const is_part = op === "contains";
  // Metadata may have values that no suggestion shows; records are known by their keys.
  const can_add = typed !== "" && (is_part || field.startsWith("metadata:")) && !values.includes(typed);
  const add = () => {
    onChange([...values, typed]);
    setTyped("");
  };
  return (
    <div class="value-picker">
      {values.length > 0 && (
        <ul class="chips plain" aria-label="Chosen values">
          {values.map((key) => (
            <li key={key} class="chip">
              {valueName(field, key)}
              <button
                type="button"
                class="chip-remove"
                aria-label={`Remove ${key}`}
                onClick={() => toggle(key)}
              >
                <Icon name="close" size={12} />
              </button>
            </li>
          ))}
        </ul>
      )}
      <label for={id}>{is_part ? "Part of the text" : "Values"}</label>
      <input
        id={id}
        value={typed}
        autocomplete="off"
        placeholder="Type a part of it"
        onInput={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || typed === "") return;
          event.preventDefault();
          const [first] = found;
          if (can_add) add();
          else if (first) toggle(first.key);
        }}
      />
      {can_add && (
        <button type="button" class="choice" onClick={add}>
          <Icon name="plus" size={12} /> “{typed}”
        </button>
      )}
      {trouble !== undefined && <p class="problem">{trouble}</p>}
      {!is_part && (
        <div class="value-list" role="group" aria-label="Values that events have">
          {found.map(({ key, name, event_count }) => (
            <button
              key={key}
              type="button"
              class="choice"
              aria-pressed={values.includes(key)}
              onClick={() => toggle(key)}
            >
              <span>{name}</span> <span class="soft">{count(event_count, "event")}</span>
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
