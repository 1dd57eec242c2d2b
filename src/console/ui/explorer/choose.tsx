import { useEffect, useId, useState } from "preact/hooks";
import type { Choice } from "../fields.tsx";

/** One of several, as a part of a question: what is chosen is asked at once. */
export function Choose<V extends string>(props: {
  label: string;
  value: V;
  choices: readonly (Choice & { value: V })[];
  onChoose: (value: V) => void;
}) {
  const { label, value, choices, onChoose } = props;
  const id = useId();
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        onChange={({ currentTarget }) => {
          const chosen = choices.find((choice) => choice.value === currentTarget.value);
          if (chosen) onChoose(chosen.value);
        }}
      >
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
      </select>
    </div>
  );
}

/** A text as a part of what is put together on a page. */
export function TextInput(props: { label: string; value: string; onType: (value: string) => void }) {
  const { label, value, onType } = props;
  const id = useId();
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <input
        id={id}
        value={value}
        autocomplete="off"
        onInput={(event) => onType(event.currentTarget.value)}
      />
    </div>
  );
}

/** The names of a record as choices, in its order. */
export function choicesOf<V extends string>(names: Record<V, string>): (Choice & { value: V })[] {
  // Object.entries forgets which keys there are.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return (Object.entries(names) as [V, string][]).map(([value, label]) => ({ value, label }));
}

/** A text that is asked once typing pauses. */
export function Typed(props: {
  label: string;
  value: string;
  is_decimal?: boolean;
  onType: (value: string) => void;
}) {
  const { label, value, is_decimal = false, onType } = props;
  const [typed, setTyped] = useState(value);
  const id = useId();
  useEffect(() => setTyped(value), [value]);
  const is_wrong = is_decimal && typed !== "" && !Number.isFinite(Number(typed));
  useEffect(() => {
    if (typed === value || is_wrong) return undefined;
    const timer = setTimeout(() => onType(typed), 400);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <input
        id={id}
        value={typed}
        autocomplete="off"
        {...(is_decimal && { inputMode: "decimal" as const })}
        {...(is_wrong && { "aria-invalid": true as const })}
        onInput={(event) => setTyped(event.currentTarget.value.trim())}
      />
    </div>
  );
}
