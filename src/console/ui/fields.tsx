import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { company } from "../app/session.ts";
import { IconButton } from "./button.tsx";
import type { FormState } from "./form.tsx";
import { mayBeNull, requiredOf, schemaIn } from "./schemas.ts";

export interface FieldProps {
  form: FormState;
  /** The body's field. */
  name: string;
  label: string;
  /** A line under it; true for what the schema says of the field. */
  help?: ComponentChildren;
  is_disabled?: boolean;
}

/** What every field has around it: label, help, and what the service said. */
export function useField({ form, name, help, is_disabled = false }: FieldProps) {
  const id = useId();
  const schema = schemaIn(form.schema, name);
  const problem = form.problemOf(name);
  const hint = help === true ? sentence(schema?.description) : help;
  const described = [problem !== undefined && `${id}-problem`, hint !== undefined && `${id}-help`].filter(
    Boolean,
  );
  const is_required = requiredOf(form.schema).includes(name) && mayBeNull(form.schema, name) !== true;
  return {
    id,
    schema,
    problem,
    hint,
    is_required,
    current: form.values[name],
    change: (value: unknown) => form.set({ [name]: value }),
    attributes: {
      id,
      name,
      disabled: is_disabled,
      ...(is_required && { "aria-required": true as const }),
      ...(problem !== undefined && { "aria-invalid": true as const }),
      ...(described.length > 0 && { "aria-describedby": described.join(" ") }),
    },
  };
}

/** A schema's description, which reads after "must be", as a line of its own. */
function sentence(description: string | undefined): string | undefined {
  return description && description.charAt(0).toUpperCase() + description.slice(1);
}

type Used = ReturnType<typeof useField>;

/** Label, control, and the texts under it. */
export function Field({ label, used, children }: { label: string; used: Used; children: ComponentChildren }) {
  const { id, is_required } = used;
  return (
    <div class="field">
      <label for={id}>
        {label}
        {is_required && <Star />}
      </label>
      {children}
      <Texts used={used} />
    </div>
  );
}

/** Read out by aria-required. */
const Star = () => (
  <span class="star" aria-hidden="true" title="Required">
    {" "}
    *
  </span>
);

function Texts({ used: { id, hint, problem } }: { used: Used }) {
  return (
    <>
      {problem !== undefined && (
        <p class="problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
      {hint !== undefined && (
        <p class="help" id={`${id}-help`}>
          {hint}
        </p>
      )}
    </>
  );
}

const text = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "";

/** Each by itself: what an input may have depends on its type. */
const TYPES = {
  text: { type: "text" },
  email: { type: "email" },
  password: { type: "password" },
  url: { type: "url" },
  date: { type: "date" },
  month: { type: "month" },
} as const;

/** A line of text; also an address, a password, a day or a month. */
export function TextField(
  props: FieldProps & {
    type?: keyof typeof TYPES;
    placeholder?: string;
    autocomplete?: string;
  },
) {
  const used = useField(props);
  const { type = "text", placeholder, autocomplete = "off" } = props;
  return (
    <Field label={props.label} used={used}>
      <input
        {...used.attributes}
        {...TYPES[type]}
        autocomplete={autocomplete}
        {...(used.schema?.maxLength !== undefined && { maxLength: used.schema.maxLength })}
        {...(placeholder !== undefined && { placeholder })}
        value={text(used.current)}
        onInput={(event) => used.change(event.currentTarget.value)}
      />
    </Field>
  );
}

/** A text of several lines. */
export function TextAreaField(props: FieldProps & { rows?: number; placeholder?: string }) {
  const used = useField(props);
  const { rows = 4, placeholder } = props;
  return (
    <Field label={props.label} used={used}>
      <textarea
        {...used.attributes}
        rows={rows}
        {...(placeholder !== undefined && { placeholder })}
        value={text(used.current)}
        onInput={(event) => used.change(event.currentTarget.value)}
      />
    </Field>
  );
}

/** A whole number, sent as a number. */
export function NumberField(props: FieldProps & { unit?: string }) {
  return (
    <FigureInput
      {...props}
      inputMode="numeric"
      // What is no number is sent as it is: the service says what is allowed.
      read={(typed) => (/^-?\d{1,15}$/.test(typed) ? Number(typed) : typed)}
    />
  );
}

/** An amount, price or other decimal, sent as the text that was typed: never a float. `unit` such as "MYR" beside it. */
export function DecimalField(props: FieldProps & { unit?: string }) {
  return <FigureInput {...props} inputMode="decimal" read={(typed) => typed} />;
}

function FigureInput(
  props: FieldProps & {
    unit?: string;
    inputMode: "numeric" | "decimal";
    read: (typed: string) => unknown;
  },
) {
  const used = useField(props);
  const { unit, inputMode, read } = props;
  return (
    <Field label={unit === undefined ? props.label : `${props.label} (${unit})`} used={used}>
      <input
        {...used.attributes}
        type="text"
        inputMode={inputMode}
        autocomplete="off"
        class="figures"
        value={text(used.current)}
        onInput={(event) => used.change(read(event.currentTarget.value.trim()))}
      />
    </Field>
  );
}

/** A local time in the company's zone, as the service reads it: without an offset. */
export function TimeField(props: FieldProps) {
  const used = useField({ ...props, help: props.help ?? `In ${company.value.timezone}` });
  return (
    <Field label={props.label} used={used}>
      <input
        {...used.attributes}
        type="datetime-local"
        value={text(used.current)}
        onInput={(event) => used.change(event.currentTarget.value)}
      />
    </Field>
  );
}

export interface Choice {
  value: string;
  label: string;
}

/** One of several. `none` names a first choice that stands for nothing; `is_number` sends numbers. */
export function SelectField(
  props: FieldProps & { choices: readonly Choice[]; none?: string; is_number?: boolean },
) {
  const used = useField(props);
  const { choices, none, is_number = false } = props;
  return (
    <Field label={props.label} used={used}>
      <select
        {...used.attributes}
        value={text(used.current)}
        onChange={(event) => {
          const chosen = event.currentTarget.value;
          used.change(is_number && chosen !== "" ? Number(chosen) : chosen);
        }}
      >
        {none !== undefined && <option value="">{none}</option>}
        {choices.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </Field>
  );
}

/** Yes or no. */
export function CheckField(props: FieldProps) {
  const used = useField(props);
  return (
    <div class="field check">
      <label>
        <input
          {...used.attributes}
          type="checkbox"
          checked={used.current === true}
          onChange={(event) => used.change(event.currentTarget.checked)}
        />
        {props.label}
      </label>
      <Texts used={used} />
    </div>
  );
}

/** Any of several: an array of their values. */
export function CheckListField(
  props: FieldProps & {
    choices: readonly { value: string | number; label: ComponentChildren }[];
    /** Said where there are no choices. */
    none?: string;
  },
) {
  const used = useField(props);
  const chosen: unknown[] = Array.isArray(used.current) ? used.current : [];
  const { "aria-describedby": described, "aria-invalid": is_invalid } = used.attributes;
  return (
    <div
      class="field check-list"
      role="group"
      aria-labelledby={`${used.id}-label`}
      {...(described !== undefined && { "aria-describedby": described })}
    >
      <div class="field-label" id={`${used.id}-label`}>
        {props.label}
        {used.is_required && <Star />}
      </div>
      {props.choices.length === 0 && <p class="soft">{props.none ?? "There are none yet."}</p>}
      {props.choices.map(({ value, label }) => (
        <div key={value} class="check">
          <label>
            <input
              type="checkbox"
              disabled={props.is_disabled ?? false}
              {...(is_invalid && { "aria-invalid": true as const })}
              checked={chosen.includes(value)}
              onChange={(event) => {
                const others = chosen.filter((one) => one !== value);
                used.change(event.currentTarget.checked ? [...others, value] : others);
              }}
            />
            {label}
          </label>
        </div>
      ))}
      <Texts used={used} />
    </div>
  );
}

/** Short texts, one at a time: Enter or a comma adds what was typed. An array of texts. */
export function TagsField(props: FieldProps & { placeholder?: string }) {
  const used = useField(props);
  const [typed, setTyped] = useState("");
  const tags: string[] = Array.isArray(used.current) ? used.current.map(text) : [];
  const add = (words: string) => {
    const added = words
      .split(/[,\n]/)
      .map((word) => word.trim())
      .filter((word) => word !== "");
    setTyped("");
    if (added.length > 0) used.change([...new Set([...tags, ...added])]);
  };
  return (
    <Field label={props.label} used={used}>
      {tags.length > 0 && (
        <ul class="chips">
          {tags.map((tag) => (
            <li key={tag} class="chip">
              {tag}
              <IconButton
                icon="close"
                label={`Remove ${tag}`}
                onClick={() => used.change(tags.filter((other) => other !== tag))}
              />
            </li>
          ))}
        </ul>
      )}
      <input
        {...used.attributes}
        type="text"
        autocomplete="off"
        placeholder={props.placeholder ?? "Type and press Enter"}
        value={typed}
        onInput={(event) => {
          const { value } = event.currentTarget;
          if (value.includes(",")) add(value);
          else setTyped(value);
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || typed.trim() === "") return;
          event.preventDefault();
          add(typed);
        }}
        onBlur={() => add(typed)}
      />
    </Field>
  );
}
