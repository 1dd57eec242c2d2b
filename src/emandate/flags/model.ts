import { type Static, Type } from "@sinclair/typebox";
import { LIMITS } from "../limits.ts";
import {
  At,
  ById,
  Id,
  nullable,
  oneOf,
  pageFieldsUpTo,
  sortedBy,
  strict,
  trimmedText,
} from "../../core/schema.ts";

/**
 * The reasons for a flag: why a result, or a missing one, cannot be applied by itself. docs/emandate.md says what to
 * do about each.
 */
export const FLAG_REASONS = [
  "no_answer",
  "message_refused",
  "retry_was_sent",
  "paid_twice",
  "paid_after_return",
  "paid_beyond_limit",
  "failed_after_correction",
  "earlier_attempt_returned",
  "confirmed_too_late",
  "refused_too_late",
] as const;
export type FlagReason = (typeof FLAG_REASONS)[number];

export const FLAG_STATUSES = ["open", "resolved"] as const;

/** A debit or a mandate that a person must look at. */
export const MandateFlag = Type.Object(
  {
    id: Id,
    company_id: Id,
    mandate_id: Id,
    payment_id: nullable(Id),
    order_no: Type.String({ description: "the order that the result is about" }),
    reason: oneOf(FLAG_REASONS),
    status: oneOf(FLAG_STATUSES),
    response_code: nullable(Type.String()),
    message: nullable(Type.String({ description: "the scheme's message" })),
    note: nullable(Type.String({ description: "how it was resolved" })),
    resolved_by: Type.Union([Id, Type.Null()], {
      description: "a user's id; null while it is open, and where a result came after all",
    }),
    resolved_at: nullable(At),
    created_at: At,
    updated_at: At,
  },
  { title: "MandateFlag" },
);
export type MandateFlag = Static<typeof MandateFlag>;

export const ListMandateFlags = strict({
  status: Type.Optional(oneOf(FLAG_STATUSES)),
  reason: Type.Optional(oneOf(FLAG_REASONS)),
  mandate_id: Type.Optional(Id),
  payment_id: Type.Optional(Id),
  sort: sortedBy(["id", "resolved_at"]),
  ...pageFieldsUpTo(LIMITS.emandate_page_limit),
});

export const ResolveMandateFlag = strict(
  { ...ById.properties, note: trimmedText(LIMITS.mandate_flag_note_length) },
  { title: "ResolveMandateFlag" },
);
