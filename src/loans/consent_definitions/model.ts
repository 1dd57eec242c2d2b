import { FormatRegistry, type Static, Type } from "@sinclair/typebox";
import { ENVIRONMENTS } from "../../core/access.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { LIMITS } from "../limits.ts";
import { At, Id, nullable, oneOf, pageFields, sortedBy, strict, trimmedText } from "../../core/schema.ts";
import { Code } from "../programs/model.ts";

export const DEFINITION_STATUSES = ["draft", "published", "retired"] as const;
export type DefinitionStatus = (typeof DEFINITION_STATUSES)[number];

FormatRegistry.Set("language tag", (text) => {
  try {
    return Intl.getCanonicalLocales(text).length === 1;
  } catch {
    return false;
  }
});
const Locale = Type.Transform(
  Type.String({
    format: "language tag",
    maxLength: LIMITS.locale_length,
    description: "a language tag (BCP 47), as en or ms-MY",
    "x-schema": { type: "string", examples: ["en", "ms-MY"] },
  }),
)
  .Decode((tag) => Intl.getCanonicalLocales(tag)[0] ?? tag)
  .Encode((tag) => tag);

const Days = Type.Integer({ minimum: 1, maximum: LIMITS.consent_days });

/** A text that borrowers are asked to consent to, in one language and version. */
export const ConsentDefinition = Type.Object(
  {
    id: Id,
    environment: oneOf(ENVIRONMENTS),
    code: Type.String(),
    version: Type.Integer({ minimum: 1 }),
    locale: Type.String(),
    title: Type.String(),
    purpose_text: Type.String(),
    data_text: Type.String(),
    data_categories: Type.Array(Type.String()),
    audience: Type.String(),
    data_life_days: nullable(
      Type.Integer({ description: "how long the data is kept; null: as long as needed" }),
    ),
    validity_days: nullable(
      Type.Integer({ description: "how long a consent is valid; null: until it is revoked" }),
    ),
    text_sha256: Type.String({ description: "of the text that the borrower is shown, in hex" }),
    status: oneOf(DEFINITION_STATUSES),
    published_at: nullable(At),
    retired_at: nullable(At),
    created_at: At,
    updated_at: At,
  },
  { title: "ConsentDefinition" },
);
export type ConsentDefinition = Static<typeof ConsentDefinition>;

/** The text that the borrower is shown, which `text_sha256` is the hash of. */
export type ConsentText = Pick<
  ConsentDefinition,
  | "code"
  | "locale"
  | "title"
  | "purpose_text"
  | "data_text"
  | "data_categories"
  | "audience"
  | "data_life_days"
  | "validity_days"
>;

const textFields = {
  title: trimmedText(SHARED_LIMITS.name_length),
  purpose_text: trimmedText(LIMITS.consent_text_length),
  data_text: trimmedText(LIMITS.consent_text_length),
  data_categories: Type.Array(trimmedText(LIMITS.consent_audience_length), {
    maxItems: LIMITS.consent_categories,
    uniqueItems: true,
  }),
  audience: trimmedText(LIMITS.consent_audience_length),
  data_life_days: Type.Optional(nullable(Days)),
  validity_days: Type.Optional(nullable(Days)),
};

const filters = {
  code: Type.Optional(Code),
  locale: Type.Optional(Locale),
  sort: sortedBy(["id", "code", "title", "created_at"]),
};

export const ListDefinitions = strict({
  ...filters,
  status: Type.Optional(oneOf(DEFINITION_STATUSES)),
  ...pageFields,
});

export const ListPublishedDefinitions = strict({ ...filters, ...pageFields });

export const CreateDefinition = strict(
  { code: Code, locale: Type.Optional(Locale), ...textFields },
  { title: "CreateConsentDefinition" },
);

/** Fields left out keep their value; code and locale may be repeated, not changed. */
export const UpdateDefinition = strict(
  { id: Id, ...Type.Partial(CreateDefinition).properties },
  { title: "ConsentDefinitionChange" },
);

/** The fields that differ from the version that the next one is made from. */
export const CreateDefinitionVersion = strict(
  { id: Id, ...Type.Partial(strict(textFields)).properties },
  { title: "ConsentDefinitionVersion" },
);
