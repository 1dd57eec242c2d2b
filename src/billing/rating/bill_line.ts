import { type Static, Type } from "@sinclair/typebox";
import { DecimalText } from "../decimals.ts";
import { At, Id, nullable, oneOf } from "../../core/schema.ts";

/** The kinds of lines, in the order in which a bill shows those of one stretch. */
export const LINE_KINDS = ["fee", "usage", "maximum_cap", "minimum_true_up", "overage"] as const;

/**
 * A line of a bill. `quantity` of a usage line is its units, of an overage line its credits. `unit_price`: of one
 * unit, package, credit or month; null where tiers or limits make the amount. `event_count` and `usage_digest` are
 * of a usage line's own events; null on other lines.
 */
export const BillLine = Type.Object(
  {
    kind: oneOf(LINE_KINDS),
    description: Type.String(),
    billing_model_id: Id,
    from: At,
    to: At,
    quantity: DecimalText,
    unit_price: nullable(DecimalText),
    amount: DecimalText,
    event_count: nullable(Type.Integer()),
    usage_digest: nullable(Type.String()),
    proration: nullable(Type.Object({ numerator: Type.Integer(), denominator: Type.Integer() })),
  },
  { title: "BillLine" },
);
export type BillLine = Readonly<Static<typeof BillLine>>;
