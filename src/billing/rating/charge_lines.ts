import {
  atLeastZero,
  compare,
  type Decimal,
  groupDigits,
  isZero,
  multiply,
  roundMoney,
  roundQuotient,
  subtract,
  sum,
} from "../../core/money.ts";
import { NO_DIGEST } from "../../usage_store/digest.ts";
import type { Measured } from "../../usage_store/meter.ts";
import type { Charge, Commitment, MatchedPrice } from "../billing_models/charge_model.ts";
import { billLine, type BillLine } from "./bill_line.ts";
import { joinStretches, type Segment } from "./segments.ts";
import { UNIT_CHARGES, type UnitPrice, withoutFlatFees } from "./unit_prices.ts";

/** What a charge's meter measured of a segment, by the position of the price that fits, -1 where none does. */
export interface ChargedUsage {
  /** Whether quantities of segments add up, so that tiers go on from one segment to the next. */
  readonly is_additive: boolean;
  /** Whether more time brings more of it, as of sums and counts. */
  readonly grows?: boolean;
  readonly parts: readonly Pick<
    Measured,
    "part" | "quantity" | "event_count" | "skipped_events" | "digest"
  >[];
}

/** A segment with what its charges measured, by their codes. */
export interface ChargedSegment {
  readonly segment: Segment;
  readonly charges?: ReadonlyMap<string, ChargedUsage>;
}

/** One of the prices of a charge, or its own for what none of them fits. */
interface Tariff {
  readonly part: number;
  readonly match: MatchedPrice["match"] | null;
  /** Null: free. */
  readonly terms: UnitPrice | null;
}

const NOTHING = { quantity: "0", event_count: 0, skipped_events: 0, digest: NO_DIGEST };

/** The lines of the charges of a stretch under one plan, in the order of the model. */
export function chargeLines(parts: readonly [ChargedSegment, ...ChargedSegment[]]): BillLine[] {
  const [{ segment }] = parts;
  return segment.model.charges.flatMap((charge) =>
    charge.type === "fixed"
      ? fixedLine(charge, joinStretches(parts))
      : tariffsOf(charge).flatMap((tariff) => meteredLines(charge, tariff, parts)),
  );
}

function tariffsOf(charge: Charge): Tariff[] {
  const { charge_flat_on_zero } = charge;
  return [
    ...charge.prices.map(({ match, ...terms }, part) => ({
      part,
      match,
      terms: { ...terms, charge_flat_on_zero },
    })),
    { part: -1, match: null, terms: charge.unmatched === "free" ? null : charge },
  ];
}

/** price × quantity, by days. */
function fixedLine(charge: Charge, stretch: Segment): BillLine[] {
  const { model, proration } = stretch;
  if (proration.numerator === 0) return [];
  const { numerator, denominator } = proration;
  const monthly = multiply(charge.price, charge.quantity ?? "1");
  const days = numerator < denominator ? `, ${numerator} of ${denominator} days` : "";
  return [
    billLine(stretch, {
      kind: "charge",
      description: `${charge.name}${days}`,
      quantity: charge.quantity ?? "1",
      unit_price: charge.price,
      amount: roundQuotient(multiply(monthly, String(numerator)), String(denominator), model.currency),
      proration,
      charge_code: charge.code,
    }),
  ];
}

/** A line for each segment in which the tariff has events or costs something. */
function meteredLines(
  charge: Charge,
  { part, match, terms }: Tariff,
  parts: readonly [ChargedSegment, ...ChargedSegment[]],
): BillLine[] {
  const owns_a_day = joinStretches(parts).proration.numerator > 0;
  const { code, meter_id, per } = charge;
  let [units, charged, is_first] = ["0", "0", true];
  return parts.flatMap(({ segment, charges }) => {
    const { is_additive = true, parts: measured = [] } = charges?.get(code) ?? {};
    const found = measured.find((candidate) => candidate.part === part) ?? NOTHING;
    const { event_count, skipped_events, digest: usage_digest } = found;
    // Corrections may exceed what they correct: rated as zero.
    const quantity = atLeastZero(found.quantity);
    if (!is_additive) [units, charged, is_first] = ["0", "0", true];
    units = sum([units, quantity]);
    const so_far = amountOf(charge, owns_a_day || !terms ? terms : withoutFlatFees(terms), units, segment);
    const amount = roundMoney(subtract(so_far, charged), segment.model.currency);
    const is_continued = !is_first;
    if (event_count === 0 && skipped_events === 0 && isZero(amount)) return [];
    [charged, is_first] = [so_far, false];
    const unit_price = terms === null ? "0" : is_continued || isTiered(charge) ? null : terms.price;
    return [
      billLine(segment, {
        kind: "charge",
        description: `${titleOf(charge, match)}${is_continued ? ", continued" : ""}`,
        quantity,
        unit_price,
        amount,
        event_count,
        usage_digest,
        charge_code: code,
        meter_id,
        match,
        per,
        skipped_events,
      }),
    ];
  });
}

const isTiered = ({ type }: Charge) => type === "graduated" || type === "volume";

/** What units of a charge cost, rounded once; flat fees are whole, whatever unit prices are per. */
function amountOf(charge: Charge, terms: UnitPrice | null, units: Decimal, { model }: Segment): Decimal {
  const { type, per, code } = charge;
  if (terms === null || type === "fixed") return roundMoney("0", model.currency);
  const scaled = {
    ...terms,
    usage_tiers: terms.usage_tiers.map((tier) => ({ ...tier, flat_fee: multiply(tier.flat_fee, per) })),
  };
  const cost = UNIT_CHARGES[type](scaled, units, `charge ${code} of billing model ${model.id}: ${type}`);
  return roundQuotient(cost, per, model.currency);
}

/** `Input (model small)`; the name alone for what no price fits. */
export function titleOf({ name }: Pick<Charge, "name">, match: MatchedPrice["match"] | null): string {
  if (match === null) return name;
  const values = Object.entries(match).map(([key, value]) => `${key} ${value}`);
  return `${name} (${values.join(", ")})`;
}

/** The lines that bring what a stretch's usage and charges come to within the model's commitment to a month. */
export function commitmentLines(stretch: Segment, charged: Decimal): BillLine[] {
  const { commitment } = stretch.model;
  if (commitment === null || commitment.interval === "year") return [];
  const amounts = committed(stretch, commitment, charged);
  return COMMITMENT_KINDS.flatMap((kind) =>
    isZero(amounts[kind]) ? [] : commitmentLine(stretch, commitment, kind, amounts[kind]),
  );
}

export const COMMITMENT_KINDS = ["commitment_cap", "commitment_true_up"] as const;
type CommitmentKind = (typeof COMMITMENT_KINDS)[number];

/** What brings an amount, charged by a plan in its days of a month or of a year, within a commitment. */
export function committed(
  { model: { currency }, proration: { numerator, denominator } }: Pick<Segment, "model" | "proration">,
  { minimum, maximum }: Commitment,
  charged: Decimal,
): Record<CommitmentKind, Decimal> {
  const zero = roundMoney("0", currency);
  const over =
    maximum === null ? zero : roundMoney(subtract(roundMoney(maximum, currency), charged), currency);
  const commitment_cap = compare(over, "0") < 0 ? over : zero;
  if (minimum === null) return { commitment_cap, commitment_true_up: zero };
  const due = roundQuotient(multiply(minimum, String(numerator)), String(denominator), currency);
  const missing = roundMoney(subtract(due, sum([charged, commitment_cap])), currency);
  return { commitment_cap, commitment_true_up: compare(missing, "0") > 0 ? missing : zero };
}

/** A line of a commitment. */
export function commitmentLine(
  stretch: Segment,
  { minimum, maximum, interval: commitment_interval }: Commitment,
  kind: CommitmentKind,
  amount: Decimal,
): BillLine {
  const facts = { kind, amount, ...(commitment_interval === undefined ? {} : { commitment_interval }) };
  if (kind === "commitment_cap") {
    const of_year = commitment_interval === undefined ? "" : " of the year";
    const description = `usage and charges${of_year} capped at ${groupDigits(maximum ?? "0")}`;
    return billLine(stretch, { ...facts, description });
  }
  const yearly = commitment_interval === undefined ? "" : "yearly ";
  const description = `${yearly}commitment of ${groupDigits(minimum ?? "0")}`;
  return billLine(stretch, { ...facts, description, proration: stretch.proration });
}
