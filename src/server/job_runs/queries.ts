import { eq, getTableColumns } from "drizzle-orm";
import { instant, iso } from "../../core/time.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { Queries, Reads } from "../../store/store.ts";
import { jobRunTable } from "./tables.ts";

/** Records that a job has ended well for every company. */
export async function saveSuccess(
  q: Queries,
  name: string,
  run: { began: Temporal.Instant; ended: Temporal.Instant },
): Promise<void> {
  const t = q.use(jobRunTable);
  const times = { succeeded_at: iso(run.ended), began_at: iso(run.began) };
  await q
    .insert(t)
    .values({ name, ...times })
    .onConflictDoUpdate({ target: t.name, set: times });
}

/** When a job's last run began that ended well for every company. */
export async function findLastBeginning(q: Reads, name: string): Promise<Temporal.Instant | null> {
  const t = q.use(jobRunTable);
  const [row] = await selectRows(q, t, { columns: { began_at: t.began_at }, where: eq(t.name, name) });
  return row?.began_at == null ? null : instant(row.began_at);
}

/** When each job last ended well, by its name. */
export async function listSuccesses(q: Reads): Promise<Map<string, Temporal.Instant>> {
  const t = q.use(jobRunTable);
  const rows = await selectRows(q, t, { columns: getTableColumns(t) });
  return new Map(rows.map(({ name, succeeded_at }) => [name, instant(succeeded_at)]));
}
