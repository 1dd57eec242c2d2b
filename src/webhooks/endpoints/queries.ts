import { and, asc, eq, inArray, isNull, or, type SQL } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { companyOwned, containing } from "../../store/expressions.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import { columnsOf, findRow, listRows, orderOf } from "../../store/list_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { countRows, selectRows } from "../../store/select_rows.ts";
import { type SigningSecret, Webhook } from "./model.ts";
import { webhookTable } from "./tables.ts";

/** The columns of an endpoint on the wire: its secrets are not among them. */
const webhookColumns = (q: Reads) => columnsOf(q.use(webhookTable), Webhook);

/** Endpoints by id, and how many there are in all. */
export function listWebhooks(tx: ReadTx, { search, sort }: { search?: string; sort?: string }, slice: Slice) {
  const t = tx.q.use(webhookTable);
  const where = and(inScope(tx), or(containing(t.url, search), containing(t.description, search)));
  return listRows(tx.q, t, { columns: webhookColumns(tx.q), where, order: orderOf(t, sort), slice });
}

export function findWebhook(tx: ReadTx, id: number): Promise<Webhook | undefined> {
  const t = tx.q.use(webhookTable);
  return findRow(tx.q, t, { columns: webhookColumns(tx.q), where: and(inScope(tx), eq(t.id, id)) });
}

export function countWebhooks(tx: ReadTx): Promise<number> {
  return countRows(tx.q, tx.q.use(webhookTable), inScope(tx));
}

export async function findSecrets(tx: ReadTx, id: number): Promise<SigningSecret[] | undefined> {
  const t = tx.q.use(webhookTable);
  const row = await findRow(tx.q, t, {
    columns: { secrets: t.secrets },
    where: and(inScope(tx), eq(t.id, id)),
  });
  return row?.secrets;
}

/** The secrets of all endpoints. */
export function listSecrets(tx: ReadTx): Promise<{ id: number; secrets: SigningSecret[] }[]> {
  const t = tx.q.use(webhookTable);
  return tx.q
    .select({ id: t.id, secrets: t.secrets })
    .from(t)
    .where(inScope(tx))
    .orderBy(asc(t.id))
    .execute();
}

/** Replaces the stored form of the same secrets: updated_at stays as it was. */
export async function updateSecrets(tx: Tx, id: number, secrets: SigningSecret[]): Promise<void> {
  const t = tx.q.use(webhookTable);
  await tx.q
    .update(t)
    .set({ secrets })
    .where(and(inScope(tx), eq(t.id, id)));
}

type Editable = Pick<Webhook, "url" | "event_types" | "description">;

export async function insertWebhook(
  { q, scope, now }: Tx,
  webhook: Editable & { secrets: SigningSecret[] },
): Promise<Webhook> {
  const t = q.use(webhookTable);
  const rows = await q
    .insert(t)
    .values({ ...webhook, status: "active", company_id: scope.company_id, ...stamped(now) })
    .returning(webhookColumns(q));
  return exactlyOne(rows);
}

export async function updateWebhook(
  tx: Tx,
  id: number,
  change: Partial<Editable & Pick<Webhook, "status" | "disabled_reason">> & {
    secrets?: SigningSecret[];
    deleted_at?: string;
  },
): Promise<Webhook | undefined> {
  const t = tx.q.use(webhookTable);
  const [webhook] = await tx.q
    .update(t)
    .set({ ...change, updated_at: iso(tx.now) })
    .where(and(inScope(tx), eq(t.id, id)))
    .returning(webhookColumns(tx.q));
  return webhook;
}

function inScope({ q, scope }: ReadTx): SQL | undefined {
  const t = q.use(webhookTable);
  return and(companyOwned(t, scope), isNull(t.deleted_at));
}

// What the dispatcher reads and writes, for all companies at once: it acts for no caller, and so has no scope.

/** An active endpoint, with its secrets. */
export type ActiveEndpoint = Pick<Webhook, "id" | "company_id" | "url" | "event_types"> & {
  secrets: SigningSecret[];
};

/** Active endpoints, by company or by id. */
export async function listActive(
  q: Reads,
  { company_ids, ids }: { company_ids?: readonly number[]; ids?: readonly number[] },
): Promise<ActiveEndpoint[]> {
  const t = q.use(webhookTable);
  const { id, company_id, url, event_types, secrets } = t;
  return selectRows(q, t, {
    columns: { id, company_id, url, event_types, secrets },
    where: and(
      eq(t.status, "active"),
      company_ids === undefined ? undefined : inArray(t.company_id, [...company_ids]),
      ids === undefined ? undefined : inArray(t.id, [...ids]),
    ),
  });
}

/** Disables an endpoint if it is active and its URL is still the one that was called; returns whether it was. */
export async function disableEndpoint(
  { q, now }: Omit<Tx, "scope">,
  { id, url }: Pick<ActiveEndpoint, "id" | "url">,
  disabled_reason: string,
): Promise<boolean> {
  const t = q.use(webhookTable);
  const rows = await q
    .update(t)
    .set({ status: "disabled", disabled_reason, updated_at: iso(now) })
    .where(and(eq(t.id, id), eq(t.url, url), eq(t.status, "active")))
    .returning({ id: t.id });
  return rows.length > 0;
}
