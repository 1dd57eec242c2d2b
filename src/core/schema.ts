import { FormatRegistry, type Static, type TSchema, Type } from "@sinclair/typebox";
import { SHARED_LIMITS } from "./limits.ts";
import { isCurrency } from "./money.ts";

// The pieces that wire shapes are made of. Where a text breaks a pattern or a format, its `description` is
// the error: write it so that it reads after "must be". `x-schema` is what the documentation shows instead.

// Our own names: the HTTP library registers looser checks under the standard ones.
FormatRegistry.Set("email-address", (text) => /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(text));
FormatRegistry.Set("calendar day", (text) => {
  try {
    return /^\d{4}-\d\d-\d\d$/.test(text) && Temporal.PlainDate.from(text).toString() === text;
  } catch {
    return false;
  }
});
FormatRegistry.Set("currency", isCurrency);
FormatRegistry.Set("time-zone", (text) => {
  try {
    // Offsets such as +08:00 have no history of their own: only IANA names.
    return /^[A-Z]/i.test(text) && Temporal.Now.zonedDateTimeISO(text).timeZoneId !== "";
  } catch {
    return false;
  }
});

/** A record's id. */
export const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

/** The id of a usage event or a reservation: a UUID of whatever version. The format of that name admits fewer once a document is made. */
export const Uuid = Type.String({
  pattern: "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
  description: "a UUID",
  "x-schema": { type: "string", format: "uuid" },
});

/** An instant that we answer: UTC with milliseconds; those of inputs are in instants.ts. `iso` makes it, so that answers are spared a check. */
export const At = Type.String({ "x-schema": { type: "string", format: "date-time" } });

/** A calendar day in an input, as YYYY-MM-DD. */
export const Day = Type.String({
  format: "calendar day",
  description: "a day such as 2026-08-31",
  "x-schema": { type: "string", format: "date" },
});

/** A name that people read: trimmed, not blank. */
export const Name = trimmedText(SHARED_LIMITS.name_length);

export const Search = Type.String({
  minLength: 1,
  maxLength: SHARED_LIMITS.name_length,
  description: `1 to ${SHARED_LIMITS.name_length} characters, a part of what is looked for`,
});

export const Email = Type.Transform(
  Type.String({
    format: "email-address",
    maxLength: SHARED_LIMITS.email_length,
    description: "an email address",
    "x-schema": { type: "string", format: "email", maxLength: SHARED_LIMITS.email_length },
  }),
)
  .Decode((text) => text.toLowerCase())
  .Encode((text) => text);

/** A text that people read: trimmed, not blank, on one line where required. */
export function trimmedText(max: number, { one_line = false } = {}) {
  const format = `text of 1 to ${max}${one_line ? " on one line" : ""}`;
  const description = `1 to ${max} characters, not blank${one_line ? ", none of them a control character" : ""}`;
  const refused = one_line ? /[\p{Cc}\p{Zl}\p{Zp}]/u : /$^/;
  FormatRegistry.Set(format, (text) => {
    const stripped = text.trim();
    // No character takes more than two units: what is far too long is not gone through.
    const fits = stripped.length <= 2 * max && Array.from(stripped).length <= max;
    return fits && /[^\s\p{Cf}]/u.test(stripped) && !refused.test(text);
  });
  return Type.Transform(
    Type.String({
      format,
      description,
      "x-schema": { type: "string", minLength: 1, maxLength: max, description },
    }),
  )
    .Decode((text) => text.trim())
    .Encode((text) => text);
}

/** A text of at most `max` characters, which may be empty. */
export function textUpTo(max: number) {
  return Type.String({ maxLength: max, description: `at most ${max} characters` });
}

/** One of a few words. */
export function oneOf<const V extends readonly string[]>(words: V, description?: string) {
  return Type.Unsafe<V[number]>(
    Type.Union(
      words.map((word) => Type.Literal(word)),
      description === undefined ? {} : { description },
    ),
  );
}

export function nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()]);
}

/**
 * The body or input of an operation: fields that it does not know are refused. `examples` are shown in the documentation,
 * without what is in the path, and a test sends each.
 */
export function strict<T extends Parameters<typeof Type.Object>[0]>(
  fields: T,
  options: { title?: string; examples?: readonly unknown[] } = {},
) {
  return Type.Object(fields, { ...options, additionalProperties: false });
}

/** By which of these fields a list is sorted; with a minus the largest first. */
export function sortedBy<const N extends readonly string[]>(names: N) {
  const words = names.flatMap((name): (N[number] | `-${N[number]}`)[] => [name, `-${name}`]);
  return Type.Optional(oneOf(words, `one of ${words.join(", ")}`));
}

/** Records by their ids, in a query. `idListed` of the store reads it. */
export const idsUpTo = (most: number) =>
  Type.String({
    pattern: `^[1-9][0-9]{0,14}(,[1-9][0-9]{0,14}){0,${most - 1}}$`,
    description: `1 to ${most} ids, with commas between`,
  });

/** Narrows a list to records that are known by their ids, such as those that another list names. */
export const idsField = Type.Optional(idsUpTo(SHARED_LIMITS.page_limit));

/** Asks a record's path for what takes more than reading the record. */
export const WithFigures = Type.Optional(oneOf(["figures"], "figures: with its field `figures`"));

/** A page of a list, of at most so many rows: both optional. */
export function pageFieldsUpTo(page_limit: number) {
  return {
    page: Type.Optional(Type.Integer({ minimum: 1, maximum: SHARED_LIMITS.page_number })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: page_limit })),
  };
}

export const pageFields = pageFieldsUpTo(SHARED_LIMITS.page_limit);

export const PageMeta = Type.Object(
  { page: Type.Integer(), limit: Type.Integer(), total: Type.Integer(), total_pages: Type.Integer() },
  { title: "PageMeta" },
);

/** What all rows of a list come to, not those of its page alone: one sum a currency. */
export const Sums = Type.Array(
  Type.Object({
    currency: Type.String(),
    amount: Type.String({ description: "a decimal such as 120.50" }),
    rows: Type.Integer({ description: "how many rows it is of" }),
  }),
  { title: "Sums", description: "with sums=true: of all rows that match, by currency" },
);
export type Sums = Static<typeof Sums>;

/** A list response: `meta` only where a page was requested. */
export function listed<T extends TSchema>(item: T) {
  return Type.Object({ data: Type.Array(item), meta: Type.Optional(PageMeta) });
}

/** A list's answer that is always one page. */
export function paged<T extends TSchema>(item: T) {
  return Type.Object({ data: Type.Array(item), meta: PageMeta });
}

/** As `paged`, with the sums of all rows where they are asked for. */
export function pagedWithSums<T extends TSchema>(item: T) {
  const meta = Type.Object(
    { ...PageMeta.properties, sums: Type.Optional(Sums) },
    { title: "PageMetaWithSums" },
  );
  return Type.Object({ data: Type.Array(item), meta });
}

/** Whether a list is asked for the sums of all its rows. */
export const sumsField = {
  sums: Type.Optional(Type.Boolean({ description: "true: meta.sums, of all rows that match" })),
};

/** The input of an operation on one record. */
export const ById = strict({ id: Id });
export type ById = Static<typeof ById>;

/** The input or answer of an operation that has nothing to say: `{}`. */
export const Nothing = strict({}, { title: "Nothing" });
