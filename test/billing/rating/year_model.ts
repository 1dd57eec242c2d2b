import { type Facts, type Month, monthsOf, slicesOf } from "../../sim/bill_model.ts";
import { dec, type ModelLine } from "./charge_model.ts";
import type { SoldPlan } from "./sold_plans.ts";

// Commitments to a year, worked out from docs/billing.md in whole numbers, without the program's rating.

const ONE = 10n ** 12n;
const COMMITTED = ["usage", "maximum_cap", "minimum_true_up", "charge"];
const YEAR_DAYS = 370 * 24 * 3_600_000;

/** The twelve months of the year that a month of a subscription is in. */
export function yearAround(facts: Facts<SoldPlan>, { from_ms }: Month): Month[] {
  const all = monthsOf({ ...facts, ends_ms: null }, from_ms + YEAR_DAYS);
  const begins = all.findIndex((month) => month.from_ms === from_ms);
  return all.slice(begins - (begins % 12)).slice(0, 12);
}

/** The lines of commitments that a month has: what its year owes, less what other months' bills have of it. */
export function yearLines(
  facts: Facts<SoldPlan>,
  year: readonly Month[],
  {
    own,
    elsewhere,
    is_over,
  }: { own: readonly ModelLine[]; elsewhere: readonly ModelLine[]; is_over: boolean },
  digits: number,
): ModelLine[] {
  const minor = 10n ** BigInt(digits);
  const days = year.reduce((sum, { first, next }) => sum + first.until(next).days, 0);
  const slices = year.flatMap((month) => slicesOf(facts, month));
  const plans = new Map(slices.map(({ plan }) => [plan.id, plan]));
  return [...plans.values()].flatMap((plan) => {
    if (plan.commitment?.interval !== "year") return [];
    const { minimum, maximum } = plan.commitment;
    const lived = slices.filter((slice) => slice.plan.id === plan.id);
    const owned = lived.reduce((sum, slice) => sum + slice.days, 0);
    const sumOf = (lines: readonly ModelLine[], kinds: readonly string[]) =>
      lines.reduce(
        (sum, line) => sum + (line.plan_id === plan.id && kinds.includes(line.kind) ? line.minor : 0n),
        0n,
      );
    const yearly = elsewhere.filter(({ code }) => code === "year");
    let charged = sumOf([...own, ...elsewhere], COMMITTED);
    const most = maximum === null ? null : nearest(dec(maximum) * minor, ONE);
    const cap = most !== null && charged > most ? most - charged : 0n;
    charged += cap;
    const least = minimum === null ? 0n : nearest(dec(minimum) * BigInt(owned) * minor, ONE * BigInt(days));
    const true_up = is_over && minimum !== null && charged < least ? least - charged : 0n;
    const line = (kind: string, wanted: bigint, line_days: number | null): ModelLine[] => {
      const missing = wanted - sumOf(yearly, [kind]);
      if (missing === 0n) return [];
      return [
        {
          kind,
          plan_id: plan.id,
          from_ms: Math.min(...lived.map(({ from_ms }) => from_ms)),
          to_ms: Math.max(...lived.map(({ to_ms }) => to_ms)),
          days: line_days,
          code: "year",
          match: "",
          quantity: ONE,
          unit_price: null,
          minor: missing,
          events: 0,
          skipped: 0,
          digest: 0n,
        },
      ];
    };
    return [...line("commitment_cap", cap, null), ...line("commitment_true_up", true_up, owned)];
  });
}

/** a / b to the nearest whole, halves away from zero; neither is below zero. */
const nearest = (a: bigint, b: bigint) => (2n * a + b) / (2n * b);
