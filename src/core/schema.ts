import { FormatRegistry, type Static, type TSchema, Type } from "@sinclair/typebox";
import { LIMITS } from "./config.ts";

// The pieces that wire shapes are made of. Where a text breaks a pattern or a format, its `description` is
// the error: write it so that it reads after "must be".

FormatRegistry.Set("email", (text) => /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(text));
FormatRegistry.Set("date-time", (text) => {
  try {
    Temporal.Instant.from(text);
    return true;
  } catch {
    return false;
  }
});
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

/** An instant: answered in UTC with milliseconds. */
export const At = Type.String({ format: "date-time", description: "an ISO 8601 date-time with an offset or Z" });

/** A name that people read: trimmed, not blank. */
export const Name = trimmed(LIMITS.name_length);

export const Search = Type.String({ minLength: 1, maxLength: LIMITS.name_length, description: "a part of the name" });

export const Email = Type.Transform(
  Type.String({ format: "email", maxLength: LIMITS.email_length, description: "an email address" }),
)
  .Decode((text) => text.toLowerCase())
  .Encode((text) => text);

/** A text that people read, trimmed, with something in it. */
export function trimmed(max: number) {
  return Type.Transform(
    Type.String({ minLength: 1, maxLength: max, pattern: "\\S", description: `1 to ${max} characters, not blank` }),
  )
    .Decode((text) => text.trim())
    .Encode((text) => text);
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

/** The body or input of an operation: fields that it does not know are refused. */
export function strict<T extends Parameters<typeof Type.Object>[0]>(fields: T, options: { title?: string } = {}) {
  return Type.Object(fields, { ...options, additionalProperties: false });
}

/** A page of a list: both optional. */
export const pageFields = {
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMITS.page_number })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMITS.page_limit })),
};

export const PageMeta = Type.Object(
  { page: Type.Integer(), limit: Type.Integer(), total: Type.Integer(), total_pages: Type.Integer() },
  { title: "PageMeta" },
);

/** A list's answer: `meta` only where a page was asked for. */
export function listed<T extends TSchema>(item: T) {
  return Type.Object({ data: Type.Array(item), meta: Type.Optional(PageMeta) });
}

/** A list's answer that is always one page. */
export function paged<T extends TSchema>(item: T) {
  return Type.Object({ data: Type.Array(item), meta: PageMeta });
}

/** The input of an operation on one record. */
export const ById = strict({ id: Id });
export type ById = Static<typeof ById>;

/** The input or answer of an operation that has nothing to say: `{}`. */
export const Nothing = strict({}, { title: "Nothing" });
