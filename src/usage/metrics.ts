import { counterBy } from "../core/metrics.ts";
import { AppError, type ErrorKind } from "../core/errors.ts";

const events = counterBy(
  "meterhouse_usage_events_total",
  "Usage events sent or imported: stored (accepted), stored before (duplicate), refused as they are (rejected), or not stored now (failed)",
  "result",
  ["accepted", "duplicate", "rejected", "failed"],
);

/** Counts events that were stored, and those that can't be as they are. */
export function countStored(stored: { accepted: number; duplicates: number }, rejected = 0): void {
  events.of("accepted").add(stored.accepted);
  events.of("duplicate").add(stored.duplicates);
  events.of("rejected").add(rejected);
}

const REJECTIONS: ReadonlySet<ErrorKind> = new Set(["invalid", "conflict"]);

/** Counts the events of a request that was refused whole. */
export function countRefused(count: number, error: unknown): void {
  const is_rejection = error instanceof AppError && REJECTIONS.has(error.kind);
  events.of(is_rejection ? "rejected" : "failed").add(count);
}
