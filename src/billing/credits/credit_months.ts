import type { Context } from "../../app/context.ts";
import type { Scope } from "../../core/access.ts";
import { segmentsOf } from "../runs/meter_usage.ts";
import { creditMonth } from "../rating/credit_month.ts";
import type { CreditMonth } from "../rating/charges.ts";
import type { DuePeriod } from "../runs/outcomes.ts";
import type { Segment } from "../rating/segments.ts";

/**
 * The credits of subscriptions in billing months, as their bills would have them by now: the same segments,
 * the same rule. One question to the usage store, without the proof that bills keep. Null where no credit plan
 * was in force. Decision 0067.
 */
export async function creditMonths(
  { usage, config }: Pick<Context, "usage" | "config">,
  { company_id }: Scope,
  items: readonly DuePeriod[],
): Promise<(CreditMonth | null)[]> {
  const cut = items.map((item) => ({ item, parts: segmentsOf(item) }));
  // Usage under other plans takes no credits: it need not be read.
  const windows = cut.flatMap(({ item, parts }) =>
    parts.filter(isOnCredits).map(({ from, to }) => ({
      subscription_id: item.subscription.id,
      start_ms: from.epochMilliseconds,
      end_ms: to.epochMilliseconds,
    })),
  );
  const sums =
    windows.length === 0 ? [] : await usage.sums(company_id, windows, config.usage_query_timeout_ms);
  let next = 0;
  return cut.map(({ item, parts }) => {
    const used = parts.map((segment) => {
      const sum = isOnCredits(segment) ? sums[next++] : NO_USAGE;
      if (!sum) throw new Error("Cannot count credits: a segment's usage was not summed");
      return { segment, usage: sum };
    });
    return creditMonth(used, item.period);
  });
}

const NO_USAGE = { units: "0", event_count: 0 };

function isOnCredits({ model }: Segment): boolean {
  return model.billing_type === "credit";
}
