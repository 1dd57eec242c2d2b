import { type Static, Type } from "@sinclair/typebox";
import { At } from "../../core/schema.ts";
import { DecimalText } from "../../billing/decimals.ts";

/** A company whose debits wait, and what goes out when they are released. Amounts are in MYR. */
export const HeldDebits = Type.Object({
  reason: Type.String({ description: "a noun with its instant: the restore of the point of …" }),
  held_since: At,
  /** Debits that are due by the end of today, and what they come to. */
  due: Type.Integer(),
  due_amount: DecimalText,
  /** Mandates whose next collection is due: it becomes a debit. */
  due_mandates: Type.Integer(),
  /** Whether debits are made for a bank's file that are in none yet. */
  has_unfiled: Type.Boolean(),
});
export type HeldDebits = Static<typeof HeldDebits>;
