import { ceilQuotient, compare, sum } from "../../core/money.ts";
import { daysOf, type Period } from "../../core/periods.ts";
import type { CreditPlan } from "../billing_models/model.ts";
import type { CreditMonth, Usage } from "./rating.ts";
import type { Segment } from "./rules.ts";

/** A segment and, of what was used in it, as much as credits ask for. */
export interface CountedSegment {
  readonly segment: Segment;
  readonly usage: Pick<Usage, "units" | "event_count">;
}

/**
 * The credits that the plans of a billing month give, in whole credits; null where no credit plan was in force.
 * The first plan gives its monthly credits by the days that were left, that day included. Each later one with
 * more than every plan before it adds the difference to the largest of them, by the days left then; everything
 * is rounded up. So a smaller plan takes none back, one that follows it gives nothing twice, and a month never
 * gives more than its largest plan. A plan that ends inside the month has given its credits all the same.
 * Source: billing.md, Credits and Wire details. Decision 0067.
 */
export function allocatedCredits(parts: readonly Segment[], period: Period): number | null {
  const plans = creditParts(parts);
  if (plans.length === 0) return null;
  let allocated = 0;
  let largest = 0;
  for (const { segment, plan } of plans) {
    allocated += given(plan.monthly_credits - largest, segment, period);
    largest = Math.max(largest, plan.monthly_credits);
  }
  return allocated;
}

/**
 * The credits of a billing month: what its plans gave and what its usage took, in whole credits; null where no
 * credit plan was in force. `per_api_call` takes one credit an event, `per_unit` the units together, rounded
 * up. Source: billing.md, Credits.
 */
export function creditMonth(used: readonly CountedSegment[], period: Period): CreditMonth | null {
  const segments = used.map(({ segment }) => segment);
  const allocated = allocatedCredits(segments, period);
  if (allocated === null) return null;
  const usages = new Map(used.map(({ segment, usage }) => [segment, usage]));
  const counted = creditParts(segments).map(({ segment, plan }) => ({ plan, usage: usages.get(segment) }));
  const events = counted
    .filter(consumesBy("per_api_call"))
    .reduce((all, { usage }) => all + (usage?.event_count ?? 0), 0);
  const units = sum(counted.filter(consumesBy("per_unit")).map(({ usage }) => usage?.units ?? "0"));
  return {
    allocated,
    // Corrections may exceed what they correct: that gives no credits.
    consumed: events + (compare(units, "0") > 0 ? Number(ceilQuotient(units, "1")) : 0),
  };
}

function creditParts(parts: readonly Segment[]): { segment: Segment; plan: CreditPlan }[] {
  return parts
    .flatMap((segment) => {
      const { credit_plan: plan, billing_type } = segment.model;
      return billing_type === "credit" && plan ? [{ segment, plan }] : [];
    })
    .toSorted((a, b) => Temporal.Instant.compare(a.segment.from, b.segment.from));
}

const consumesBy =
  (consumption: CreditPlan["credit_consumption"]) =>
  ({ plan }: { plan: CreditPlan }) =>
    plan.credit_consumption === consumption;

/** More credits by the days left from the segment's first on; none where they are not more. */
function given(more_credits: number, { first_day }: Segment, period: Period): number {
  const days_left = first_day.until(period.end_date).days;
  return Number(ceilQuotient(String(Math.max(0, more_credits) * days_left), String(daysOf(period))));
}
