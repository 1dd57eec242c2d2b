import type { Bounds } from "../../core/periods.ts";

/**
 * Due periods by their start, in batches to meter by one query each: at most `most`, and of one month where that gives
 * at least half as many, since a query goes through all events between its first start and its last end.
 */
export function batchesByMonth<P extends { readonly period: Bounds }>(
  due: readonly P[],
  most: number,
): P[][] {
  // Instants are slow to compare: their numbers are read once.
  const sorted = due
    .map((one) => ({ one, start_ms: one.period.from.epochMilliseconds }))
    .toSorted((a, b) => a.start_ms - b.start_ms);
  const batches: P[][] = [];
  let batch: P[] = [];
  let first_end_ms = 0;
  for (const { one, start_ms } of sorted) {
    const is_month = start_ms >= first_end_ms && batch.length >= most / 2;
    if (batch.length === 0 || batch.length === most || is_month) {
      batch = [];
      batches.push(batch);
      first_end_ms = one.period.to.epochMilliseconds;
    }
    batch.push(one);
  }
  return batches;
}
