import { and, asc, eq, gt, isNull, lt, ne, notExists, or, sql } from "drizzle-orm";
import { countActiveSubscriptions } from "../billing/subscriptions/queries.ts";
import { subscriptionTable } from "../billing/subscriptions/tables.ts";
import { iso } from "../core/time.ts";
import { findRow, matching } from "../store/list_rows.ts";
import { countRows, selectRows } from "../store/select_rows.ts";
import type { ReadTx } from "../store/store.ts";
import { clientTable } from "../tenancy/clients/tables.ts";
import { recordEvents } from "../webhooks/events/queries.ts";
import { blankEntries, change, type LookTx, NOBODY, type SubjectRules } from "./subject_queries.ts";
import { joinTraces, tracesOf } from "./traces.ts";
import { listUsersOf, USER } from "./user_queries.ts";

/** Clients, deleted ones included, and their users. What bills name stays as long as bills do. */
export const CLIENT: SubjectRules = {
  async look(tx, id) {
    if (!(await findAnyClient(tx, id))) return undefined;
    const active = await countActiveSubscriptions(tx, { client_id: id });
    const users = (await listUsersOf(tx, { client_id: id })).length;
    const t = tx.q.use(subscriptionTable);
    const subscriptions = await countRows(
      tx.q,
      t,
      matching(t, { company_id: tx.scope.company_id, client_id: id }),
    );
    return {
      records: { clients: 1, users, subscriptions },
      blocked: active > 0 ? `it has ${active} active subscriptions: cancel them first` : null,
      kept: (await isBilled(tx, id))
        ? "its name and those of its subscriptions, which bills show: for BILL_RETENTION_YEARS after the last one ended"
        : null,
    };
  },

  async erase(tx, id) {
    const client = await findAnyClient(tx, id);
    if (!client) return { records: 0, traces: joinTraces([]) };
    const users = [];
    for (const user of await listUsersOf(tx, { client_id: id })) users.push(await USER.erase(tx, user));
    const of_users = {
      records: users.reduce((sum, { records }) => sum + records, 0),
      traces: joinTraces(users.map(({ traces }) => traces)),
    };
    const t = tx.q.use(clientTable);
    // After a restore it may have them again.
    if ((await countActiveSubscriptions(tx, { client_id: id })) > 0) return of_users;
    const at = iso(tx.now);
    const deleted = await change(
      tx,
      t,
      { deleted_at: at, updated_at: at },
      and(eq(t.id, id), isNull(t.deleted_at)),
    );
    if (deleted > 0) await recordEvents(tx, [{ type: "client.deleted", data: { id } }]);
    if (await isBilled(tx, id)) return of_users;
    return {
      records: of_users.records + (await eraseNames(tx, id)),
      traces: joinTraces([of_users.traces, tracesOf(client)]),
    };
  },
};

async function eraseNames(tx: Parameters<SubjectRules["erase"]>[0], id: number): Promise<number> {
  const t = tx.q.use(clientTable);
  const subscriptions = tx.q.use(subscriptionTable);
  const updated_at = iso(tx.now);
  const of_client = eq(subscriptions.client_id, id);
  const ids = tx.q.select({ id: subscriptions.id }).from(subscriptions).where(of_client);
  return (
    (await change(tx, t, { name: NOBODY, updated_at }, eq(t.id, id))) +
    (await change(
      tx,
      subscriptions,
      { name: NOBODY, external_subscription_id: sql`'erased-' || ${subscriptions.id}`, updated_at },
      of_client,
    )) +
    (await blankEntries(tx, "client", [id])) +
    (await blankEntries(tx, "subscription", sql`${ids}`))
  );
}

function findAnyClient({ q, scope }: ReadTx, id: number) {
  const t = q.use(clientTable);
  const columns = { id: t.id, name: t.name };
  return findRow(q, t, { columns, where: matching(t, { company_id: scope.company_id, id }) });
}

/** Whether a subscription of the client ended so lately that its bills must name it, or runs. */
async function isBilled({ q, scope, kept_since }: LookTx, id: number): Promise<boolean> {
  const t = q.use(subscriptionTable);
  const own = matching(t, { company_id: scope.company_id, client_id: id });
  return (await countRows(q, t, and(own, or(isNull(t.ends_at), gt(t.ends_at, iso(kept_since)))))) > 0;
}

/** Deleted clients whose name no bill needs any more. */
export async function listUnbilledClients(tx: LookTx, limit: number): Promise<number[]> {
  const t = tx.q.use(clientTable);
  const subscriptions = tx.q.use(subscriptionTable);
  const billed = tx.q
    .select({ id: subscriptions.id })
    .from(subscriptions)
    .where(
      and(
        eq(subscriptions.client_id, t.id),
        or(isNull(subscriptions.ends_at), gt(subscriptions.ends_at, iso(tx.kept_since))),
      ),
    );
  const rows = await selectRows(tx.q, t, {
    columns: { id: t.id },
    where: and(
      eq(t.company_id, tx.scope.company_id),
      lt(t.deleted_at, iso(tx.now)),
      ne(t.name, NOBODY),
      notExists(billed),
    ),
    order: asc(t.id),
    limit,
  });
  return rows.map(({ id }) => id);
}
