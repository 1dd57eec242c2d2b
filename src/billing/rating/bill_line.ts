import { type Static, Type } from "@sinclair/typebox";
import { DecimalText } from "../decimals.ts";
import { iso } from "../../core/time.ts";
import { At, Id, nullable, oneOf } from "../../core/schema.ts";
import type { Segment } from "./segments.ts";

/** The kinds of lines, in the order in which a bill shows those of one stretch. */
export const LINE_KINDS = [
  "setup",
  "fee",
  "usage",
  "maximum_cap",
  "minimum_true_up",
  "overage",
  "charge",
  "commitment_cap",
  "commitment_true_up",
  "add_on",
] as const;

/**
 * A line of a bill. `quantity` of a usage line is its units, of an overage line its credits. `unit_price`: of one
 * unit, package, credit or month; null where tiers or limits make the amount. `event_count` and `usage_digest` are
 * of a usage line's own events, and of those of a charge with a meter; null on other lines. Only lines of charges and
 * add-ons have the fields from `charge_code` to `skipped_events`, only those of add-ons have `add_on_id`, only those of
 * a trial have `trial`.
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
    add_on_id: Type.Optional(Id),
    charge_code: Type.Optional(Type.String()),
    meter_id: Type.Optional(nullable(Id)),
    match: Type.Optional(
      nullable(Type.Record(Type.String(), Type.String(), { description: "the values that the price is of" })),
    ),
    per: Type.Optional(Type.String({ description: "unit_price is of so many units" })),
    skipped_events: Type.Optional(
      Type.Integer({ description: "events without a value that the meter could read" }),
    ),
    fee_interval: Type.Optional(
      oneOf(["quarter", "half_year", "year"], "how long a fee beyond a month is for"),
    ),
    commitment_interval: Type.Optional(
      oneOf(["year"], "the commitment is to a year: what the period's bills have of its cap or true-up"),
    ),
    trial: Type.Optional(Type.Boolean({ description: "part of a trial, which costs nothing" })),
  },
  { title: "BillLine" },
);
export type BillLine = Readonly<Static<typeof BillLine>>;

/** What is given of a line; the rest is nothing. */
export type LineInput = Pick<BillLine, "kind" | "description" | "amount"> & Partial<BillLine>;

/** A line of a stretch under one plan. */
export function billLine(
  stretch: Pick<Segment, "model" | "from" | "to" | "is_trial">,
  { description, ...facts }: LineInput,
): BillLine {
  return {
    billing_model_id: stretch.model.id,
    description: `${stretch.model.name}: ${stretch.is_trial ? "trial, " : ""}${description}`,
    from: iso(stretch.from),
    to: iso(stretch.to),
    quantity: "1",
    unit_price: null,
    event_count: null,
    usage_digest: null,
    proration: null,
    ...(stretch.is_trial ? { trial: true } : {}),
    ...facts,
  };
}
