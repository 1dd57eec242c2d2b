import type { UsageCount } from "../records/count_usage.ts";
import type { RecordedPart } from "../records/queries.ts";
import { storedBy } from "../records/verify_usage.ts";
import { type DuePeriod, stretchesIn } from "../runs/billable.ts";
import { rate, type RatedPeriod } from "../runs/pipeline.ts";

/**
 * Rates a period by its subscription's models and the events that its last record knew; the result rates it once
 * `count` was asked. Errors: that of a period that can't be rated, from the result.
 */
export function rateAsRecorded(due: DuePeriod, last: RecordedPart, count: UsageCount): () => RatedPeriod {
  const { segments, add_ons } = stretchesIn(due);
  const stored_by = storedBy(last);
  const used = count.ofSegments(segments, due, stored_by);
  const used_add_ons = count.ofAddOns(add_ons, due, stored_by);
  return () => {
    const { done, failed } = rate([
      {
        ...due,
        segments,
        add_ons,
        used: used(),
        used_add_ons: used_add_ons(),
        usage_until: last.usage_until,
        usage_seq: last.usage_seq ?? 0,
      },
    ]);
    const [rated] = done;
    if (!rated) throw new Error(failed[0]?.message ?? "Cannot rate the period");
    return rated;
  };
}
