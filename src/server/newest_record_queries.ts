import { desc } from "drizzle-orm";
import { auditLogTable } from "../audit/tables.ts";
import { billingRecordTable } from "../billing/records/tables.ts";
import { instant, later } from "../core/time.ts";
import { selectRows } from "../store/select_rows.ts";
import type { Reads, Store } from "../store/store.ts";
import { usageLinkTable } from "../usage/store_link/tables.ts";
import { eventTable } from "../webhooks/events/tables.ts";

/** When the last record was written, by those that almost every change and bill writes; null where there is none. */
export async function findNewestRecord(q: Reads): Promise<Temporal.Instant | null> {
  const [audit, event, bill] = [q.use(auditLogTable), q.use(eventTable), q.use(billingRecordTable)];
  const link = q.use(usageLinkTable);
  const last = { limit: 1 };
  const found = [
    // By id, not by time: of many million rows it takes one look.
    ...(await selectRows(q, audit, { columns: { at: audit.at }, order: desc(audit.id), ...last })),
    ...(await selectRows(q, event, { columns: { at: event.created_at }, order: desc(event.id), ...last })),
    ...(await selectRows(q, bill, { columns: { at: bill.created_at }, order: desc(bill.id), ...last })),
    ...(await selectRows(q, link, { columns: { at: link.updated_at }, ...last })),
  ];
  return found.reduce<Temporal.Instant | null>((newest, { at }) => {
    const written = instant(at);
    return newest === null ? written : later(newest, written);
  }, null);
}

/** The time of this machine and what it is compared with, in words. */
export async function describeClock({
  read,
  serverTime,
}: Pick<Store, "read" | "serverTime">): Promise<string> {
  const now = Temporal.Now.instant();
  const shown = now.toString({ smallestUnit: "second" });
  const server = await serverTime();
  if (server !== null) {
    const ahead_s = (now.epochMilliseconds - server.epochMilliseconds) / 1_000;
    return `${shown}, ${Math.abs(ahead_s).toFixed(1)} s ${ahead_s < 0 ? "behind" : "ahead of"} PostgreSQL's`;
  }
  const newest = await findNewestRecord(read);
  return `${shown}, the newest record is of ${newest?.toString({ smallestUnit: "second" }) ?? "no time yet"}`;
}
