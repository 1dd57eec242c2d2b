import { ceilQuotient, compare, sum } from "../../core/money.ts";
import { daysOf, type Period } from "../../core/periods.ts";
import type { CreditPlan } from "../billing_models/model.ts";
import type { CreditMonth, UsedSegment } from "./rating.ts";
import type { Segment } from "./rules.ts";

/**
 * The credits of a billing month: what its plans gave and what its usage took, in whole credits; null where no
 * credit plan was in force. The first plan gives its monthly credits by the days that were left, that day
 * included; each later one with more adds the difference by the days left then; everything is rounded up.
 * `per_api_call` takes one credit an event, `per_unit` the units together, rounded up. A plan that ends inside
 * the month has given its credits all the same. Source: billing.md, Credits and Wire details.
 */
export function creditMonth(used: readonly UsedSegment[], period: Period): CreditMonth | null {
  const parts = used
    .flatMap(({ segment, usage }) => {
      const { credit_plan, billing_type } = segment.model;
      return billing_type === "credit" && credit_plan ? [{ segment, usage, plan: credit_plan }] : [];
    })
    .toSorted((a, b) => Temporal.Instant.compare(a.segment.from, b.segment.from));
  if (parts.length === 0) return null;
  const allocated = parts.map(({ segment, plan }, i) =>
    given(plan.monthly_credits - (parts[i - 1]?.plan.monthly_credits ?? 0), segment, period),
  );
  const events = parts
    .filter(consumesBy("per_api_call"))
    .reduce((all, { usage }) => all + usage.event_count, 0);
  const units = sum(parts.filter(consumesBy("per_unit")).map(({ usage }) => usage.units));
  return {
    allocated: allocated.reduce((all, credits) => all + credits, 0),
    // Corrections may exceed what they correct: that gives no credits.
    consumed: events + (compare(units, "0") > 0 ? Number(ceilQuotient(units, "1")) : 0),
  };
}

const consumesBy =
  (consumption: CreditPlan["credit_consumption"]) =>
  ({ plan }: { plan: CreditPlan }) =>
    plan.credit_consumption === consumption;

/** Monthly credits by the days left from the segment's first on; a smaller plan takes none back. */
function given(monthly_credits: number, { first_day }: Segment, period: Period): number {
  const days_left = first_day.until(period.end_date).days;
  return Number(ceilQuotient(String(Math.max(0, monthly_credits) * days_left), String(daysOf(period))));
}
