import { FormatRegistry, type Static, Type } from "@sinclair/typebox";
import { SHARED_LIMITS } from "../core/limits.ts";
import { LIMITS } from "./limits.ts";
import { At, Id, Name, nullable, oneOf, pageFields, Search, strict } from "../core/schema.ts";

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

/** A text that is kept as it is sent, with something in it that can be seen. */
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
        description: "of a select, and only of one",
      }),
    ),
  },
  { title: "FormField" },
);

/** What a form asks for. `checkForm` knows the rules beyond this shape. */
export const FormStructure = strict(
  {
    title: visible(LIMITS.form_text_length),
    description: Type.Optional(upTo(SHARED_LIMITS.description_length)),
    fields: Type.Array(FormField, { minItems: 1, maxItems: LIMITS.form_fields }),
  },
  { title: "FormStructure" },
);
export type FormStructure = Static<typeof FormStructure>;

/** What a form's fields were answered with, by their names. */
export type Answers = Readonly<Record<string, string | number | boolean>>;

/** A client's form. `config` comes back as it was sent. */
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

/** Taken as it comes, so that one rule names every problem of it, whichever call it comes with. */
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
    errors: Type.Array(Type.String({ description: "a JSON pointer into the config, then what is wrong" })),
  },
  { title: "FormVerdict" },
);

const listFields = {
  search: Type.Optional(Search),
  is_active: Type.Optional(Type.Boolean()),
  ...pageFields,
};

export const ListForms = strict({ client_id: Type.Optional(Id), ...listFields });

/** A client user has one client, its own. */
export const ListMyForms = strict(listFields);
