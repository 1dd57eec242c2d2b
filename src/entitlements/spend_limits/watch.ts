import type { KeyedWatch } from "../../app/live_limits.ts";
import type { Calendar } from "../../usage_store/running_totals.ts";

const HOUR_MS = 3_600_000;

/** Whole hours of UTC: a total of few events, which is quickly counted. */
const HOURS: Calendar = {
  name: "hour of UTC",
  at(ms) {
    const start_ms = ms - (ms % HOUR_MS);
    return { start_ms, end_ms: start_ms + HOUR_MS, whole_ms: HOUR_MS };
  },
};

export const spendKey = (company_id: number, subscription_id: number) =>
  JSON.stringify(["spend", company_id, subscription_id]);

export const isSpendKey = (key: string) => key.startsWith('["spend",');

/** A watch of a subscription, so that its usage is heard of. Nobody asks for its total. */
export function spendWatch(company_id: number, subscription_id: number, now: Temporal.Instant): KeyedWatch {
  const from_ms = now.epochMilliseconds;
  return {
    key: spendKey(company_id, subscription_id),
    company_id,
    subscription_id,
    meter: { aggregation: "count", value: [], filters: [], percentile: null, carry_over: false },
    per: null,
    since_ms: from_ms,
    from_ms,
    calendar: HOURS,
  };
}
