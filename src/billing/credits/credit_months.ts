import type { Context } from "../../app/context.ts";
import { readTx } from "../../app/transaction.ts";
import { scopeOf } from "../../core/access.ts";
import { type Bounds, periodContaining, type ZoneTimeline } from "../../core/periods.ts";
import { isOfRate } from "../billing_models/credit_rates.ts";
import { namedMeters } from "../billing_models/price_terms.ts";
import { ChargeMeasures } from "../meters/measure_charges.ts";
import { findMeters } from "../meters/queries.ts";
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
 * The credits of billing months by the same segments, meters and rule as their bills, in one query of the usage store,
 * and one more where a plan counts by a meter. Null where no credit plan was in force. Decision 0067.
 */
export async function creditMonths(
  ctx: Pick<Context, "usage" | "config" | "actor" | "store" | "now">,
  items: readonly SubscriptionPeriod[],
): Promise<(CreditMonth | null)[]> {
  const { usage, config, actor } = ctx;
  const months = items.map((item) => ({ item, parts: segmentsOf(item).map(onlyRates) }));
  // Usage under other plans consumes no credits: it need not be read.
  const read = months.map(({ item, parts }) => ({ item, parts: parts.filter(isOnCredits) }));
  const named = namedMeters(read.flatMap(({ parts }) => parts.map(({ model }) => model)));
  const measures = new ChargeMeasures(await findMeters(readTx(ctx), named));
  const windows = read.flatMap(({ item, parts }) => {
    measures.add({ ...item, segments: parts });
    return parts.map(({ from, to }) => ({
      subscription_id: item.subscription.id,
      start_ms: from.epochMilliseconds,
      end_ms: to.epochMilliseconds,
    }));
  });
  const { company_id } = scopeOf(actor);
  const timeout_ms = config.usage_query_timeout_ms;
  const sums = windows.length === 0 ? [] : await usage.sums(company_id, windows, timeout_ms);
  await measures.ask(usage, { company_id }, timeout_ms);
  let next = 0;
  return months.map(({ item, parts }) => {
    const metered = parts.map((segment) => {
      if (!isOnCredits(segment)) return { segment, usage: NO_USAGE };
      const sum = sums[next++];
      if (!sum) throw new Error("Cannot count credits: a segment's usage was not summed");
      return measures.used(segment, { ...sum, usage_digest: "" });
    });
    return creditMonth(metered, item.period);
  });
}

/** Only the rates of a plan take credits: its other charges need not be measured. */
const onlyRates = (segment: Segment): Segment => ({
  ...segment,
  model: { ...segment.model, charges: segment.model.charges.filter(isOfRate) },
});

const NO_USAGE = { units: "0", event_count: 0 };

function isOnCredits({ model }: Segment): boolean {
  return model.billing_type === "credit";
}
