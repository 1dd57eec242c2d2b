import { type Static, Type } from "@sinclair/typebox";
import { At, Id, nullable, oneOf } from "../../core/schema.ts";
import { LIMITS } from "../limits.ts";

export const ATTENTION_KINDS = [
  "billing_failed",
  "usage_unbilled",
  "change_failed",
  "debit_flagged",
  "debit_failed",
  "webhook_disabled",
  "webhook_failed",
  "credits_used_up",
  "credits_low",
  "limit_reached",
  "alert_reached",
  "application_waiting",
] as const;
export type AttentionKind = (typeof ATTENTION_KINDS)[number];

/** One record that needs a person. */
export const Needing = Type.Object(
  {
    id: Id,
    at: At,
    text: Type.String({ description: "what is wrong, or whose it is" }),
    path: Type.String({ description: "where to get it" }),
  },
  { title: "NeedingAttention" },
);
export type Needing = Static<typeof Needing>;

const Item = Type.Object(
  {
    kind: oneOf(ATTENTION_KINDS),
    count: Type.Integer({ minimum: 1 }),
    newest: Type.Array(Needing, { maxItems: LIMITS.attention_newest, description: "the newest first" }),
    path: nullable(Type.String({ description: "lists them" })),
  },
  { title: "AttentionItem" },
);

export const Attention = Type.Object(
  { as_of: At, items: Type.Array(Item, { description: "the gravest first; only what there is" }) },
  { title: "Attention" },
);
