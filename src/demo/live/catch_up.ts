import { searchUsage } from "../../usage/search/service.ts";
import { later } from "../../core/time.ts";
import type { UsageSource } from "../usage/usage_source.ts";
import type { Colleague } from "./colleague.ts";

/** A gap that nobody would see. */
const SHORT_MS = 60_000;
/** Usage that is made at once. */
const STRETCH_MS = 14 * 24 * 3_600_000;

/** Stores the usage of the time in which nobody served the demo. Returns how many events that were. */
export async function catchUpUsage(
  { call, now }: Colleague,
  source: UsageSource,
  made_at: Temporal.Instant,
): Promise<number> {
  const { data } = await call(searchUsage, { sort_by: "timestamp", sort_order: "desc", limit: 1 });
  const newest = data[0] !== undefined && "timestamp" in data[0] ? data[0].timestamp : 0;
  let from_ms = later(made_at, Temporal.Instant.fromEpochMilliseconds(newest)).epochMilliseconds + 1;
  let stored = 0;
  for (const until_ms = now().epochMilliseconds; until_ms - from_ms > SHORT_MS; ) {
    const end_ms = Math.min(until_ms, from_ms + STRETCH_MS);
    stored += await source.store(await source.make({ from_ms, until_ms: end_ms }), call);
    from_ms = end_ms;
  }
  return stored;
}
