import { getTableColumns } from "drizzle-orm";
import { instant, iso } from "../../core/time.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { Queries, Reads } from "../../store/store.ts";
import { jobRunTable } from "./tables.ts";

/** Records that a job has ended well for every company. */
export async function saveSuccess(q: Queries, name: string, now: Temporal.Instant): Promise<void> {
  const t = q.use(jobRunTable);
  const succeeded_at = iso(now);
  await q
    .insert(t)
    .values({ name, succeeded_at })
    .onConflictDoUpdate({ target: t.name, set: { succeeded_at } });
}

/** When each job last ended well, by its name. */
export async function listSuccesses(q: Reads): Promise<Map<string, Temporal.Instant>> {
  const t = q.use(jobRunTable);
  const rows = await selectRows(q, t, { columns: getTableColumns(t) });
  return new Map(rows.map(({ name, succeeded_at }) => [name, instant(succeeded_at)]));
}
