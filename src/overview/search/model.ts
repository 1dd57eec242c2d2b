import { type Static, Type } from "@sinclair/typebox";
import { Id, nullable, oneOf, strict, trimmedText } from "../../core/schema.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";

export const FOUND_KINDS = [
  "client",
  "product",
  "subscription",
  "billing_model",
  "billing_record",
  "user",
  "mandate",
  "application",
] as const;
export type FoundKind = (typeof FOUND_KINDS)[number];

export const SearchAll = strict({ q: trimmedText(SHARED_LIMITS.name_length) });

/** A record that a search found. */
export const Found = Type.Object(
  {
    kind: oneOf(FOUND_KINDS),
    id: Id,
    name: Type.String({ description: "what people call it; of a bill its period and total" }),
    note: nullable(
      Type.String({ description: "what tells it apart: an external id, an email, a reference" }),
    ),
    path: Type.String({ description: "where to get it" }),
  },
  { title: "Found" },
);
export type Found = Static<typeof Found>;

export const FoundRecords = Type.Object({ data: Type.Array(Found) }, { title: "FoundRecords" });
