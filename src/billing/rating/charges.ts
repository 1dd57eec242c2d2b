import {
  atLeastZero,
  compare,
  type Decimal,
  groupDigits,
  isZero,
  multiply,
  roundMoney,
  subtract,
  sum,
} from "../../core/money.ts";
import type { BillingType } from "../billing_models/billing_types.ts";
import { type PriceTerms, withoutPrices } from "../billing_models/price_terms.ts";
import { billLine, type BillLine, LINE_KINDS } from "./bill_line.ts";
import { addOnLines, type UsedAddOn } from "./add_on_lines.ts";
import { type ChargedSegment, chargeLines, commitmentLines } from "./charge_lines.ts";
import { FEE_FIELDS, feeLine, prorated, setupLines } from "./fees.ts";
import { requireField, UNIT_CHARGES, withoutFlatFees } from "./unit_prices.ts";
import { joinStretches, type Segment, stretchesOf } from "./segments.ts";

/** The usage of a segment: the sum of its events (corrections may make it negative) and their proof. */
export interface Usage {
  readonly units: Decimal;
  readonly event_count: number;
  /** How many of the events are corrections, with a negative usage; none where it is left out. */
  readonly corrections?: number;
  readonly usage_digest: string;
  /** Events that the model's own meter found no value in; where it has one. */
  readonly skipped_events?: number;
  /** Whether units of segments add up, so that tiers go on from one to the next; they do where it is left out. */
  readonly is_additive?: boolean;
  /** Whether more time brings more units; it does where it is left out. */
  readonly grows?: boolean;
}

/** The credits of a billing month, as integers: what its plans gave, and what its usage took. */
export interface CreditMonth {
  readonly allocated: bigint;
  readonly consumed: bigint;
  /** The part of it beyond those given by then, by the segment in which it was used. */
  readonly overage: readonly { readonly segment: Segment; readonly credits: bigint }[];
}

/** How a type charges usage before its limits. */
interface Charges {
  readonly usage: (model: PriceTerms, units: Decimal, of: string) => Decimal;
  /** The usage line's description, after the model's name. */
  readonly terms: (model: PriceTerms) => string;
}

const named = ({ id, billing_type }: PriceTerms) => `billing model ${id}: ${billing_type}`;
const free = ({ free_units }: PriceTerms) =>
  isZero(free_units) ? "" : `, ${groupDigits(free_units)} units free`;
const noCharges = () => "0";

const CHARGES: Readonly<Record<BillingType, Charges>> = {
  flat: { usage: noCharges, terms: () => "usage, included" },
  per_unit: {
    usage: UNIT_CHARGES.per_unit,
    terms: (model) => `usage${free(model)}`,
  },
  graduated: {
    usage: UNIT_CHARGES.graduated,
    terms: () => "usage, graduated tiers",
  },
  volume: { usage: UNIT_CHARGES.volume, terms: () => "usage, volume tiers" },
  package: {
    usage: UNIT_CHARGES.package,
    terms: (model) => `usage in packages of ${groupDigits(model.package_size ?? "1")}${free(model)}`,
  },
  credit: { usage: noCharges, terms: () => "usage, paid with credits" },
};

/**
 * The usage of a stretch, whole: before the cap. A line for each of its segments, whose events it proves; free
 * units, tiers and packages go on from one to the next. Every metered type has the line, also with no events, so
 * that "none" can be proved too; flat and credit plans, where it is free of charge, when there are events.
 */
function usageLines(parts: readonly UsedSegment[], owns_a_day: boolean): BillLine[] {
  let [units, charged, is_first] = ["0", "0", true];
  const lines = parts.map(({ segment, usage: counted }) => {
    const { model } = segment;
    const { event_count, usage_digest, skipped_events = 0, is_additive = true } = counted;
    const is_metered = model.billing_type !== "flat" && model.billing_type !== "credit";
    const { usage, terms } = CHARGES[model.billing_type];
    const fee = FEE_FIELDS[model.billing_type];
    // Corrections may exceed what they correct: rated as zero.
    const quantity = atLeastZero(counted.units);
    if (!is_additive) [units, charged, is_first] = ["0", "0", true];
    units = sum([units, quantity]);
    const charge = usage(owns_a_day ? model : withoutFlatFees(model), units, named(model));
    const so_far = roundMoney(charge, model.currency);
    const amount = roundMoney(subtract(so_far, charged), model.currency);
    const is_continued = !is_first;
    [charged, is_first] = [so_far, false];
    if (!is_metered && event_count === 0) return null;
    return billLine(segment, {
      kind: "usage",
      description: `${terms(model)}${is_continued && is_metered ? ", continued" : ""}`,
      quantity,
      unit_price: fee === "price" || is_continued ? null : model.price,
      amount,
      event_count,
      usage_digest,
      ...(model.meter_id === null ? {} : { meter_id: model.meter_id, skipped_events }),
    });
  });
  return present(lines);
}

/** maximum_charge caps the usage charge of the segment, not its fee; it is not prorated. */
function capLine(segment: Segment, charged: Decimal): BillLine | null {
  const { maximum_charge, currency } = segment.model;
  if (maximum_charge === null) return null;
  const amount = roundMoney(subtract(roundMoney(maximum_charge, currency), charged), currency);
  if (compare(amount, "0") >= 0) return null;
  return billLine(segment, {
    kind: "maximum_cap",
    description: `usage capped at ${groupDigits(maximum_charge)}`,
    amount,
  });
}

/** minimum_charge, by the segment's days, less what usage is charged after the cap. */
function trueUpLine(segment: Segment, charged: Decimal): BillLine | null {
  const { model, proration } = segment;
  if (model.minimum_charge === null) return null;
  const minimum = prorated(model.minimum_charge, proration, model.currency);
  const amount = roundMoney(subtract(minimum, charged), model.currency);
  if (compare(amount, "0") <= 0) return null;
  const description = `minimum usage charge ${groupDigits(model.minimum_charge)}`;
  return billLine(segment, { kind: "minimum_true_up", description, amount, proration });
}

/**
 * Rates a stretch under one plan: its fee, its usage, and the limits on the usage charge. Each line is rounded
 * once; limits are taken against rounded lines, so that a capped charge sums to the cap exactly. One that owns no
 * day has no fee of any kind. Decision 0130.
 */
export function rateStretch(stretch: readonly [UsedSegment, ...UsedSegment[]]): BillLine[] {
  const unbroken = joinStretches(stretch);
  const fee = unbroken.model.fee_interval === "month" ? feeLine(unbroken) : null;
  const parts = stretch[0].segment.is_trial ? freeOfCharge(stretch) : stretch;
  const whole = joinStretches(parts);
  const { currency } = whole.model;
  const used = usageLines(parts, whole.proration.numerator > 0);
  const usage = [...used, ...limitLines(whole, total(used, currency)), ...chargeLines(parts)];
  return present([fee, ...usage, ...commitmentLines(whole, total(usage, currency))]);
}

/** The segments of a trial, with every price at 0. */
function freeOfCharge([first, ...rest]: readonly [UsedSegment, ...UsedSegment[]]): [
  UsedSegment,
  ...UsedSegment[],
] {
  const model = withoutPrices(first.segment.model);
  const withModel = (part: UsedSegment) => ({ ...part, segment: { ...part.segment, model } });
  return [withModel(first), ...rest.map(withModel)];
}

/** The lines that bring what a stretch's own usage comes to within the model's limits. */
export function limitLines(stretch: Segment, charged: Decimal): BillLine[] {
  const cap = capLine(stretch, charged);
  const capped = total([{ amount: charged }, ...present([cap])], stretch.model.currency);
  return present([cap, trueUpLine(stretch, capped)]);
}

/**
 * The credits of a month beyond its allocation, at the overage_rate of the plan under which they were used: a line
 * for each stretch that has any, where its plan bills them. Decision 0131.
 */
export function overageLines({ overage }: CreditMonth): BillLine[] {
  return stretchesOf(overage).flatMap((parts) => {
    const whole = joinStretches(parts);
    const { model, is_trial } = whole;
    const plan = requireField(model.credit_plan, "credit_plan", named(model));
    const overage_rate = is_trial && plan.overage_rate !== null ? "0" : plan.overage_rate;
    const credits_over = parts.reduce((all, { credits }) => all + credits, 0n);
    if (overage_rate === null || credits_over === 0n) return [];
    const quantity = String(credits_over);
    const amount = roundMoney(multiply(quantity, overage_rate), whole.model.currency);
    const facts = {
      description: "credits beyond the allocation",
      quantity,
      unit_price: overage_rate,
      amount,
    };
    return [billLine(whole, { kind: "overage", ...facts })];
  });
}

/** A segment with its usage. */
export interface UsedSegment extends ChargedSegment {
  readonly usage: Usage;
}

/** The lines of a period, and the sum of the rounded lines in the currency's digits. */
export interface Rating {
  readonly lines: readonly BillLine[];
  readonly total: Decimal;
}

/**
 * Rates a period: every stretch under one plan, its overage and its add-ons. `currency` is the subscription's, `credits`
 * the month's (null when no credit plan was in force), `interval_fees` those of intervals that begin with it. Errors:
 * throws on a model in another currency, or a credit plan without its credits.
 */
export function rate(
  used: readonly UsedSegment[],
  currency: string,
  credits: CreditMonth | null,
  add_ons: readonly UsedAddOn[] = [],
  interval_fees: readonly BillLine[] = [],
): Rating {
  for (const { model } of used.map(({ segment }) => segment)) {
    if (model.currency !== currency) {
      throw new Error(
        `Cannot rate billing model ${model.id} in ${currency}: its currency is ${model.currency}`,
      );
    }
    if (model.billing_type === "credit") requireField(credits, "the month's credits", named(model));
  }
  const stretches = stretchesOf(used);
  const lines = [
    ...setupLines(stretches),
    ...interval_fees,
    ...stretches.flatMap(rateStretch),
    ...(credits ? overageLines(credits) : []),
    ...add_ons.flatMap(addOnLines),
  ];
  return { lines: sortLines(lines), total: total(lines, currency) };
}

/** The sum of the lines' amounts in the currency's digits; "0.00" of none. */
export function total(lines: readonly Pick<BillLine, "amount">[], currency: string): Decimal {
  return roundMoney(sum(lines.map(({ amount }) => amount)), currency);
}

/** The units on the lines; of an adjustment the signed difference. */
export function billedUnits(lines: readonly BillLine[]): Decimal {
  return sum(lines.filter(({ kind }) => kind === "usage").map(({ quantity }) => quantity));
}

function present(lines: readonly (BillLine | null)[]): BillLine[] {
  return lines.filter((candidate) => candidate !== null);
}

/** Lines in the order of a bill: by time, and at one time the fee first. */
export function sortLines(lines: readonly BillLine[]): BillLine[] {
  // Charges of one stretch stay in the order of their model.
  return lines.toSorted((a, b) => compareText(sortKey(a), sortKey(b)));
}

const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

function sortKey(line: BillLine): string {
  const { to, kind, billing_model_id, proration } = line;
  // What settles a year comes after the month's own lines.
  const from = line.commitment_interval ? `year ${line.from}` : line.from;
  const model = String(billing_model_id).padStart(16, "0");
  const days = String(proration?.numerator ?? 0).padStart(3, "0");
  return [from, to, LINE_KINDS.indexOf(kind), model, days].join(" ");
}
