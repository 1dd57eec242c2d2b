import { and, asc, eq, inArray, isNull, or, type SQL } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { contains, companyOwned } from "../../store/expressions.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { Queries, ReadTx, Reads, Tx } from "../../store/store.ts";
import type { SigningSecret, Webhook } from "./model.ts";
import { webhookTable } from "./tables.ts";

/** The columns of an endpoint on the wire: its secrets are not among them. */
function webhookColumns(q: Reads) {
  const t = q.use(webhookTable);
  const { id, company_id, url, event_types, description, status, disabled_reason } = t;
  const { created_at, updated_at } = t;
  return { id, company_id, url, event_types, description, status, disabled_reason, created_at, updated_at };
}

/** Endpoints by id, and how many there are in all. */
export async function listWebhooks(
  tx: ReadTx,
  { search }: { search?: string },
  { limit, offset }: Slice,
): Promise<{ rows: Webhook[]; total: number }> {
  const t = tx.q.use(webhookTable);
  const found =
    search === undefined ? undefined : or(contains(t.url, search), contains(t.description, search));
  const where = and(inScope(tx), found);
  const rows = await tx.q
    .select(webhookColumns(tx.q))
    .from(t)
    .where(where)
    .orderBy(asc(t.id))
    .limit(limit)
    .offset(offset);
  return { rows, total: await tx.q.$count(t, where) };
}

export async function findWebhook(tx: ReadTx, id: number): Promise<Webhook | undefined> {
  const t = tx.q.use(webhookTable);
  const [webhook] = await tx.q
    .select(webhookColumns(tx.q))
    .from(t)
    .where(and(inScope(tx), eq(t.id, id)));
  return webhook;
}

export function countWebhooks(tx: ReadTx): Promise<number> {
  return tx.q.$count(tx.q.use(webhookTable), inScope(tx)).then(Number);
}

export async function findSecrets(tx: ReadTx, id: number): Promise<SigningSecret[] | undefined> {
  const t = tx.q.use(webhookTable);
  const [row] = await tx.q
    .select({ secrets: t.secrets })
    .from(t)
    .where(and(inScope(tx), eq(t.id, id)));
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

/** Puts another seal on the same secrets: the endpoint stays as it was. */
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

// What the dispatcher asks and writes, for all companies at once: it acts for nobody, and so has no scope.

/** An endpoint as the dispatcher calls it. */
export interface ActiveEndpoint {
  id: number;
  company_id: number;
  url: string;
  event_types: string[];
  secrets: SigningSecret[];
}

/** The active endpoints of companies, or those of the ids. */
export async function listActive(
  q: Reads,
  { company_ids, ids }: { company_ids?: readonly number[]; ids?: readonly number[] },
): Promise<ActiveEndpoint[]> {
  const t = q.use(webhookTable);
  const { id, company_id, url, event_types, secrets } = t;
  return q
    .select({ id, company_id, url, event_types, secrets })
    .from(t)
    .where(
      and(
        eq(t.status, "active"),
        company_ids === undefined ? undefined : inArray(t.company_id, [...company_ids]),
        ids === undefined ? undefined : inArray(t.id, [...ids]),
      ),
    );
}

/** Disables an endpoint that is still where it was called. Returns whether it was. */
export async function disableEndpoint(
  q: Queries,
  now: Temporal.Instant,
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
