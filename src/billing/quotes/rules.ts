import { compare, type Decimal, isZero, multiply, quotient, sum } from "../../core/money.ts";
import type { MatchedPrice } from "../billing_models/charge_model.ts";
import type { PriceTerms } from "../billing_models/price_terms.ts";
import { NO_DIGEST } from "../../usage_store/digest.ts";
import type { ChargedUsage } from "../rating/charge_lines.ts";
import type { UsedSegment } from "../rating/charges.ts";
import type { MeteredPeriod } from "../runs/pipeline.ts";

/** What a quantity is of: the model's own type (null), or a meter, for events of which some metadata is known. */
export interface QuantityOf {
  readonly meter_id: number | null;
  readonly match: Readonly<Record<string, string>> | null;
}

/** Whether the model takes a credit for each call. */
export const takesCalls = ({ credit_plan }: PriceTerms) => credit_plan?.credit_consumption === "per_api_call";

/** Whether units of the model's own type change its price. */
function isByUnits({ billing_type, credit_plan }: PriceTerms): boolean {
  return billing_type !== "flat" && credit_plan?.rates === undefined;
}

/** What a curve goes along where nobody says: the own type or, where it has no units, the first meter of a charge. */
export function mainQuantity(model: PriceTerms): QuantityOf {
  const charge = model.charges.find(({ meter_id }) => meter_id !== null);
  if (isByUnits(model) || charge === undefined) return { meter_id: null, match: null };
  const match = charge.unmatched === "free" ? (charge.prices[0]?.match ?? null) : null;
  return { meter_id: charge.meter_id, match };
}

/** The position of the price that such events have; -1 where none fits. */
function partOf(prices: readonly MatchedPrice[], match: QuantityOf["match"]): number {
  return prices.findIndex((price) =>
    Object.entries(price.match).every(([key, value]) => match?.[key] === value),
  );
}

const eventsOf = (quantity: Decimal) => (isZero(quantity) ? 0 : 1);

/** A segment with another quantity of one kind; `isAdded`: in addition to what is there. */
function withQuantityOf(
  used: UsedSegment,
  { meter_id, match }: QuantityOf,
  quantity: Decimal,
  isAdded: boolean,
): UsedSegment {
  const { model } = used.segment;
  if (meter_id === null) {
    const event_count = takesCalls(model) ? Number(quantity) : eventsOf(quantity);
    return { ...used, usage: { ...used.usage, units: quantity, event_count, corrections: 0 } };
  }
  const charges = new Map(used.charges);
  for (const { code, prices } of model.charges.filter((charge) => charge.meter_id === meter_id)) {
    const measured: ChargedUsage = charges.get(code) ?? { is_additive: true, parts: [] };
    const part = partOf(prices, match);
    const before = measured.parts.find((candidate) => candidate.part === part)?.quantity ?? "0";
    const all = isAdded ? sum([before, quantity]) : quantity;
    const others = measured.parts.filter((candidate) => candidate.part !== part);
    const found = { part, quantity: all, event_count: eventsOf(all), skipped_events: 0, digest: NO_DIGEST };
    charges.set(code, { ...measured, parts: [...others, found] });
  }
  return { ...used, charges };
}

/** A period with another quantity of one kind, all of it in the last of its segments. */
export function withQuantity(
  period: MeteredPeriod,
  of: QuantityOf,
  quantity: Decimal,
  { isAdded = false } = {},
): MeteredPeriod {
  const last = period.used.length - 1;
  const used = period.used.map((part, i) => {
    if (i === last) return withQuantityOf(part, of, quantity, isAdded);
    return isAdded ? part : withQuantityOf(part, of, "0", false);
  });
  return { ...period, used };
}

/** How much of one kind a period has. */
export function quantityIn({ used }: MeteredPeriod, { meter_id, match }: QuantityOf): Decimal {
  if (meter_id === null) return sum(used.map(({ usage }) => usage.units));
  return sum(
    used.map(({ segment, charges }) => {
      const charge = segment.model.charges.find((candidate) => candidate.meter_id === meter_id);
      const part = charge && partOf(charge.prices, match);
      const measured = charge && charges?.get(charge.code);
      return measured?.parts.find((candidate) => candidate.part === part)?.quantity ?? "0";
    }),
  );
}

/** Where the price of one kind of quantity bends: at its free units, the ends of its tiers, and its credits. */
export function bendsOf(model: PriceTerms, { meter_id, match }: QuantityOf): Decimal[] {
  const { credit_plan, charges } = model;
  const prices =
    meter_id === null
      ? [model]
      : charges
          .filter((charge) => charge.meter_id === meter_id)
          .map((charge) => charge.prices[partOf(charge.prices, match)] ?? charge);
  const credits = meter_id === null && credit_plan ? [String(credit_plan.monthly_credits)] : [];
  const ends = prices.flatMap(({ free_units, usage_tiers }) => [
    free_units,
    ...usage_tiers.flatMap(({ up_to }) => up_to ?? []),
  ]);
  return [...ends, ...credits];
}

/** The units of a curve's points from 0 to `to`, ascending: where its price bends, and evenly spread ones. */
export function curveUnits(
  to: Decimal,
  { points, bends, digits }: { points: number; bends: readonly Decimal[]; digits: number },
): Decimal[] {
  const inside = bends.filter((bend) => compare(bend, "0") > 0 && compare(bend, to) < 0);
  const bent = [...new Set(inside)].toSorted(compare).slice(0, points - 2);
  const steps = points - bent.length - 1;
  const even = Array.from({ length: steps }, (_, i) =>
    quotient(multiply(to, String(i)), String(steps), digits),
  );
  return [...new Set([...bent, ...even, to])].filter((units) => compare(units, to) <= 0).toSorted(compare);
}
