import { useId } from "preact/hooks";
import type { FormStructure } from "../../../forms/model.ts";

type Field = FormStructure["fields"][number];

/** A form as its readers see it; nothing that is typed here is sent. */
export function FormPreview({ of }: { of: FormStructure }) {
  return (
    <div class="sub-form" role="group" aria-label={of.title}>
      <h3>{of.title}</h3>
      {of.description !== undefined && <p class="soft">{of.description}</p>}
      {of.fields.map((field) => (
        <PreviewField key={field.name} field={field} />
      ))}
    </div>
  );
}

const INPUTS = {
  text: { type: "text" },
  email: { type: "email" },
  tel: { type: "tel" },
  date: { type: "date" },
  number: { type: "number" },
} as const;

function PreviewField({ field }: { field: Field }) {
  const id = useId();
  const { label, type, required, placeholder, options = [] } = field;
  if (type === "checkbox")
    return (
      <div class="field check">
        <label>
          <input type="checkbox" /> {label}
        </label>
      </div>
    );
  const hint = placeholder === undefined ? {} : { placeholder };
  return (
    <div class="field">
      <label for={id}>
        {label}
        {required === true && " *"}
      </label>
      {type === "select" ? (
        <select id={id}>
          {options.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </select>
      ) : type === "textarea" ? (
        <textarea id={id} rows={3} {...hint} />
      ) : (
        <input id={id} {...INPUTS[type]} {...hint} />
      )}
    </div>
  );
}
