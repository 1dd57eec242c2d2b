import { type Static, Type } from "@sinclair/typebox";
import { ROLES } from "../core/access.ts";
import { SHARED_LIMITS } from "../core/limits.ts";
import { rangeFields } from "../core/instants.ts";
import { At, Id, nullable, oneOf, pageFields, sortedBy, strict } from "../core/schema.ts";

export const ORIGINS = ["rest", "mcp", "job", "cli"] as const;
export const ACTOR_KINDS = ["anonymous", "operator", "user", "key", "system"] as const;
export const OUTCOMES = ["ok", "refused"] as const;

/** A JSON value. */
export type Plain = null | boolean | number | string | Plain[] | { [name: string]: Plain };

/** A field's value before and after. */
export interface Change {
  old: Plain;
  new: Plain;
}

const PlainValue = Type.Unsafe<Plain>(Type.Any());

export const AuditEntry = Type.Object(
  {
    id: Id,
    company_id: Id,
    at: At,
    actor: Type.Object({
      kind: oneOf(
        ACTOR_KINDS,
        "user, key (a machine), system (jobs and the command line) or, for a failed sign-in, anonymous",
      ),
      user_id: nullable(Id),
      email: nullable(Type.String()),
      role: nullable(oneOf(ROLES)),
      authorization_id: Type.Union([Id, Type.Null()], {
        description: "The authorization by which an OAuth client acted; null: the user acted",
      }),
      key_id: Type.Union([Id, Type.Null()], { description: "The API key of a machine" }),
    }),
    origin: oneOf(ORIGINS),
    address: nullable(Type.String()),
    request_id: Type.String(),
    operation: Type.String(),
    outcome: oneOf(OUTCOMES, "ok, or refused: a failed sign-in or a forbidden call"),
    target: Type.Object({ type: Type.String(), id: nullable(Id) }),
    input: Type.Record(Type.String(), PlainValue),
    withheld: Type.Array(Type.String({ description: "JSON pointer into the input" })),
    changes: nullable(Type.Record(Type.String(), Type.Object({ old: PlainValue, new: PlainValue }))),
  },
  { title: "AuditEntry" },
);
export type AuditEntry = Static<typeof AuditEntry>;

const word = Type.Optional(
  Type.String({
    pattern: "^[a-z][a-z0-9_]*$",
    maxLength: SHARED_LIMITS.name_length,
    description: "lower-case letters, digits and _",
  }),
);

/** From inclusive, to exclusive. */
export const ListAuditEntries = strict({
  user_id: Type.Optional(Id),
  key_id: Type.Optional(Id),
  operation: word,
  target_type: word,
  target_id: Type.Optional(Id),
  origin: Type.Optional(oneOf(ORIGINS)),
  ...rangeFields,
  sort: sortedBy(["at"]),
  ...pageFields,
});
export type AuditFilter = Omit<Static<typeof ListAuditEntries>, "page" | "limit">;
