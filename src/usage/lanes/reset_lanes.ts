import { iso } from "../../core/time.ts";
import type { Queries } from "../../store/store.ts";
import { numberOf } from "../../usage_store/clickhouse/lanes/commit_numbers.ts";
import { usageLaneTable } from "./tables.ts";

/** Makes the rows those of a new store's lanes, free and with no commit yet, which go on after a number. */
export async function resetLanes(
  q: Queries,
  now: Temporal.Instant,
  { lanes, last_seq }: { lanes: number; last_seq: number },
): Promise<void> {
  const t = q.use(usageLaneTable);
  await q.delete(t);
  if (lanes === 0) return;
  const { epoch } = numberOf(last_seq);
  const unowned = { owner_id: null, owner_url: null, wanted_by: null, least_epoch: 0 };
  const rows = Array.from({ length: lanes }, (_, lane) => ({
    ...unowned,
    lane,
    epoch,
    // Nobody can store anything in it any more, nor in those before: nobody ever could.
    closed_epoch: epoch,
    expires_at: iso(now),
  }));
  await q.insert(t).values(rows);
}
