import { asc, eq, ne, sql } from "drizzle-orm";
import type { Instance } from "../../app/instances.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { Queries, Reads } from "../../store/store.ts";
import { LIMITS } from "../limits.ts";
import { instanceTable } from "./tables.ts";

/** PostgreSQL's own time: only there are several instances. */
const NOW = sql`clock_timestamp()`;

/** Writes that an instance lives. */
export async function saveSeen(q: Queries, { id, url, version }: Instance): Promise<void> {
  const t = q.use(instanceTable);
  await q
    .insert(t)
    .values({ id, url, version, started_at: NOW, seen_at: NOW })
    .onConflictDoUpdate({ target: t.id, set: { seen_at: NOW } });
}

/** An instance, and for how long it has not been seen. */
export interface SeenInstance extends Instance {
  silent_ms: number;
}

/** The other instances that are on record. */
export function listOthers(q: Reads, own_id: string): Promise<SeenInstance[]> {
  const t = q.use(instanceTable);
  const silent_ms = sql`(extract(epoch FROM ${NOW} - ${t.seen_at}) * 1000)::float8`.mapWith(Number);
  return selectRows(q, t, {
    columns: { id: t.id, url: t.url, version: t.version, silent_ms },
    where: ne(t.id, own_id),
    order: asc(t.id),
  });
}

/** Deletes an instance that ends. */
export async function deleteInstance(q: Queries, id: string): Promise<void> {
  const t = q.use(instanceTable);
  await q.delete(t).where(eq(t.id, id));
}

/** Deletes instances that died long ago. */
export async function deleteLongDead(q: Queries): Promise<void> {
  const t = q.use(instanceTable);
  await q.delete(t).where(sql`${t.seen_at} < ${NOW} - ${LIMITS.instance_kept_ms} * interval '1 millisecond'`);
}
