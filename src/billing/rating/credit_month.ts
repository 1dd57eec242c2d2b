import { ceilQuotient, type Decimal, multiply, sum } from "../../core/money.ts";
import { daysOf, type Period } from "../../core/periods.ts";
import { rateCode } from "../billing_models/credit_rates.ts";
import type { CreditPlan } from "../billing_models/model.ts";
import type { ChargedSegment } from "./charge_lines.ts";
import type { CreditMonth, Usage } from "./charges.ts";
import type { Segment } from "./segments.ts";

/** A segment with as much of its usage as credits need; `charges` where its plan has rates. */
export interface MeteredSegment extends ChargedSegment {
  readonly usage: Pick<Usage, "units" | "event_count" | "corrections">;
}

/** A segment under a credit plan, and the credits that the month gives from its start on. */
interface CreditPart {
  readonly segment: Segment;
  readonly plan: CreditPlan;
  readonly so_far: bigint;
}

/**
 * The segments of a billing month under credit plans, in order, with the whole credits that each adds. Credits go
 * by days, as the fee does: the first plan gives its monthly credits by the month's days under credit plans from
 * its own first one on. Each later one with more than every plan before it adds the difference to the largest of
 * them, by the days from its own on; everything is rounded up. So a smaller plan takes none back, one that
 * follows it gives nothing twice, and a month never gives more than its largest plan. A plan without a day gives
 * none. Decisions 0067, 0131.
 */
function creditParts(segments: readonly Segment[], period: Period): CreditPart[] {
  const parts = segments
    .flatMap((segment) => {
      const { credit_plan: plan, billing_type } = segment.model;
      return billing_type === "credit" && plan ? [{ segment, plan }] : [];
    })
    .toSorted((a, b) => Temporal.Instant.compare(a.segment.from, b.segment.from));
  let days_left = parts.reduce((days, { segment }) => days + segment.proration.numerator, 0);
  let largest = 0;
  /** Credits of the plans without a day before the next one with a day: each upgrade of a day adds its own part. */
  let passed: number[] = [];
  return parts.map(({ segment, plan }) => {
    const own_days = segment.proration.numerator;
    passed.push(plan.monthly_credits);
    let so_far = 0n;
    if (own_days === 0) return { segment, plan, so_far };
    for (const credits of passed.filter((monthly) => monthly <= plan.monthly_credits)) {
      const increase = BigInt(Math.max(0, credits - largest)) * BigInt(days_left);
      so_far += BigInt(ceilQuotient(String(increase), String(daysOf(period))));
      largest = Math.max(largest, credits);
    }
    passed = [];
    days_left -= own_days;
    return { segment, plan, so_far };
  });
}

/** The credits that the plans of a billing month give; null where no credit plan was in force. */
export function allocatedCredits(segments: readonly Segment[], period: Period): bigint | null {
  const parts = creditParts(segments, period);
  return parts.length === 0 ? null : parts.reduce((all, { so_far }) => all + so_far, 0n);
}

/**
 * The credits of a billing month: what its plans gave and what its usage took; null where no credit plan was in
 * force. `per_api_call` takes one credit an event, and one with a negative usage gives one back; `per_unit` takes the
 * month's units, or what they take by the plan's rates, rounded up. Usage takes the credits that were given by then, and
 * what is beyond them stays so, whatever a later plan gives; corrections take it back, the last credits first. Decisions
 * 0131, 0251.
 */
export function creditMonth(used: readonly MeteredSegment[], period: Period): CreditMonth | null {
  const segments = used.map(({ segment }) => segment);
  const parts = creditParts(segments, period);
  if (parts.length === 0) return null;
  const metered = new Map(used.map((part) => [part.segment, part]));
  let [events, units] = [0n, "0"];
  /** Credits given so far, those of them that were used, and all that was used. */
  let [allocated, base, consumed] = [0n, 0n, 0n];
  const overage: { segment: Segment; credits: bigint }[] = [];
  for (const { segment, plan, so_far } of parts) {
    const { usage = NO_USAGE, charges } = metered.get(segment) ?? {};
    if (plan.rates) units = sum([units, unitsByRates(plan.rates, charges)]);
    else if (plan.credit_consumption === "per_unit") units = sum([units, usage.units]);
    // A correction takes no credit, and gives back the one of the call that it corrects.
    else events += BigInt(usage.event_count - 2 * (usage.corrections ?? 0));
    // Corrections may exceed what they correct: that gives no credits.
    const consumed_now = max(0n, events) + max(0n, BigInt(ceilQuotient(units, "1")));
    const taken = max(0n, consumed_now - consumed);
    const taken_back = max(0n, consumed - consumed_now);
    consumed = consumed_now;
    allocated += so_far;
    const within = min(taken, allocated - base);
    overage.push({ segment, credits: taken - within });
    base += within - reverseCredits(overage, taken_back);
  }
  return { allocated, consumed, overage };
}

const NO_USAGE: MeteredSegment["usage"] = { units: "0", event_count: 0 };

/** What the units of meters take in credits, not rounded yet. */
function unitsByRates(rates: NonNullable<CreditPlan["rates"]>, charges: MeteredSegment["charges"]): Decimal {
  return sum(
    rates.flatMap(({ meter_id, credits }) => {
      const { parts = [] } = charges?.get(rateCode(meter_id)) ?? {};
      return parts.map(({ quantity }) => multiply(quantity, credits));
    }),
  );
}

/** Takes overage back, the last first; returns how much more there is to take back. */
function reverseCredits(overage: readonly { credits: bigint }[], credits: bigint): bigint {
  let remaining = credits;
  for (const part of remaining > 0n ? overage.toReversed() : []) {
    const taken = min(part.credits, remaining);
    part.credits -= taken;
    remaining -= taken;
  }
  return remaining;
}

const min = (a: bigint, b: bigint) => (a < b ? a : b);
const max = (a: bigint, b: bigint) => (a > b ? a : b);
