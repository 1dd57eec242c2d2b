import type { Context } from "../../app/context.ts";
import { scopeOf } from "../../core/access.ts";
import { type Bounds, periodContaining, type ZoneTimeline } from "../../core/periods.ts";
import { creditMonth } from "../rating/credit_month.ts";
import type { CreditMonth } from "../rating/charges.ts";
import type { Segment } from "../rating/segments.ts";
import { type BillableSubscription, segmentsOf, type SubscriptionPeriod } from "../runs/billable.ts";

/** The billing month of a subscription at an instant; it continues from the bounds on record. */
export function monthOf(
  subscription: BillableSubscription,
  at: Temporal.Instant,
  zones: ZoneTimeline,
  recorded: readonly Bounds[] = [],
): SubscriptionPeriod {
  return { subscription, period: periodContaining(at, subscription.billing_anchor_day, zones, recorded) };
}

/**
 * The credits of billing months by the same segments and rule as their bills, in one query of the usage store. Null
 * where no credit plan was in force. Decision 0067.
 */
export async function creditMonths(
  { usage, config, actor }: Pick<Context, "usage" | "config" | "actor">,
  items: readonly SubscriptionPeriod[],
): Promise<(CreditMonth | null)[]> {
  const months = items.map((item) => ({ item, parts: segmentsOf(item) }));
  // Usage under other plans consumes no credits: it need not be read.
  const windows = months.flatMap(({ item, parts }) =>
    parts.filter(isOnCredits).map(({ from, to }) => ({
      subscription_id: item.subscription.id,
      start_ms: from.epochMilliseconds,
      end_ms: to.epochMilliseconds,
    })),
  );
  const { company_id } = scopeOf(actor);
  const sums =
    windows.length === 0 ? [] : await usage.sums(company_id, windows, config.usage_query_timeout_ms);
  let next = 0;
  return months.map(({ item, parts }) => {
    const metered = parts.map((segment) => {
      const sum = isOnCredits(segment) ? sums[next++] : NO_USAGE;
      if (!sum) throw new Error("Cannot count credits: a segment's usage was not summed");
      return { segment, usage: sum };
    });
    return creditMonth(metered, item.period);
  });
}

const NO_USAGE = { units: "0", event_count: 0 };

function isOnCredits({ model }: Segment): boolean {
  return model.billing_type === "credit";
}
