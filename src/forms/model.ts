import { FormatRegistry, type Static, Type } from "@sinclair/typebox";
import { SHARED_LIMITS } from "../core/limits.ts";
import { LIMITS } from "./limits.ts";
import { At, Id, Name, nullable, oneOf, pageFields, Search, sortedBy, strict } from "../core/schema.ts";

export const FIELD_TYPES = [
  "text",
  "number",
  "email",
  "tel",
  "select",
  "textarea",
  "date",
  "checkbox",
] as const;

/** A text with a visible character, stored exactly as sent. */
function visible(max: number) {
  const format = `seen text of 1 to ${max}`;
  FormatRegistry.Set(format, (text) => /[^\s\p{Cf}]/u.test(text) && Array.from(text).length <= max);
  const description = `1 to ${max} characters, not blank`;
  return Type.String({
    format,
    description,
    "x-schema": { type: "string", minLength: 1, maxLength: max, description },
  });
}

function upTo(max: number) {
  return Type.String({ maxLength: max, description: `at most ${max} characters` });
}

const FormField = strict(
  {
    name: Type.String({
      pattern: `^[A-Za-z_][A-Za-z0-9_.-]{0,${LIMITS.form_name_length - 1}}$`,
      description: `a letter or _, then letters, digits, _, - and ., at most ${LIMITS.form_name_length} characters in all`,
    }),
    label: visible(LIMITS.form_text_length),
    type: oneOf(FIELD_TYPES),
    required: Type.Optional(Type.Boolean()),
    placeholder: Type.Optional(upTo(LIMITS.form_text_length)),
    options: Type.Optional(
      Type.Array(visible(LIMITS.form_text_length), {
        maxItems: LIMITS.form_options,
        description: "only for a select",
      }),
    ),
  },
  { title: "FormField" },
);

/** The structure of a form. `checkForm` has the rules beyond this shape. */
export const FormStructure = strict(
  {
    title: visible(LIMITS.form_text_length),
    description: Type.Optional(upTo(SHARED_LIMITS.description_length)),
    fields: Type.Array(FormField, { minItems: 1, maxItems: LIMITS.form_fields }),
  },
  { title: "FormStructure" },
);
export type FormStructure = Static<typeof FormStructure>;

/** Answers to a form, by field name. */
export type Answers = Readonly<Record<string, string | number | boolean>>;

/** A client's form. `config` is returned exactly as it was sent. */
export const FormConfig = Type.Object(
  {
    id: Id,
    name: Type.String(),
    description: nullable(Type.String()),
    config: FormStructure,
    client_id: Id,
    company_id: Id,
    is_active: Type.Boolean(),
    created_at: At,
    updated_at: At,
  },
  { title: "FormConfig" },
);
export type FormConfig = Static<typeof FormConfig>;

/** Not validated by the schema: `checkForm` names every problem at once. */
const AnyConfig = Type.Unknown({ "x-schema": { $ref: "#/components/schemas/FormStructure" } });

const formFields = {
  name: Name,
  description: Type.Optional(
    nullable(
      Type.String({
        maxLength: SHARED_LIMITS.description_length,
        description: `at most ${SHARED_LIMITS.description_length} characters`,
      }),
    ),
  ),
  config: AnyConfig,
};

export const CreateForm = strict(formFields, { title: "CreateForm" });

export const UpdateForm = strict(
  { id: Id, ...formFields, is_active: Type.Optional(Type.Boolean()) },
  { title: "UpdateForm" },
);

export const ValidateForm = strict({ config: Type.Optional(AnyConfig) }, { title: "ValidateForm" });

export const FormVerdict = Type.Object(
  {
    valid: Type.Boolean(),
    errors: Type.Array(Type.String({ description: "a JSON pointer into the config, then the problem" })),
  },
  { title: "FormVerdict" },
);

const listFields = {
  search: Type.Optional(Search),
  is_active: Type.Optional(Type.Boolean()),
  sort: sortedBy(["id", "name", "created_at"]),
  ...pageFields,
};

export const ListForms = strict({ client_id: Type.Optional(Id), ...listFields });

/** Without client_id: a client user has only its own client. */
export const ListMyForms = strict(listFields);
