import type { Scope } from "../../core/access.ts";
import { iso } from "../../core/time.ts";
import type { Queries } from "../../store/store.ts";
import type { NewEvent } from "./model.ts";

/** Writes down what happened, in the transaction in which it happens. */
export async function recordEvents(
  q: Queries,
  { company_id }: Scope,
  now: Temporal.Instant,
  events: readonly NewEvent[],
): Promise<void> {
  if (events.length === 0) return;
  const rows = events.map(({ type, data }) => ({
    company_id,
    message_id: `msg_${Bun.randomUUIDv7()}`,
    type,
    data,
    created_at: iso(now),
  }));
  await q.insert(q.tables.events).values(rows);
}
