import { and, desc, eq, inArray, type SQL, sql } from "drizzle-orm";
import { interleave } from "../core/chunk.ts";
import { instant, iso } from "../core/time.ts";
import { stamped } from "../store/columns.ts";
import { filterOnly, idIn, textInList, listOf } from "../store/expressions.ts";
import { batchedRead } from "../store/batched_read.ts";
import { preparedQuery } from "../store/prepared_query.ts";
import { lastKey, raiseKey } from "../store/key_sequences.ts";
import type { Queries, ReadTx, Reads, Tx } from "../store/store.ts";
import { clientTable } from "../tenancy/clients/tables.ts";
import { companyTable } from "../tenancy/companies/tables.ts";
import { productTable } from "../billing/products/tables.ts";
import { subscriptionTable } from "../billing/subscriptions/tables.ts";
import type { KnownImport } from "./import/source.ts";
import type { StoreFacts } from "../usage_store/identity.ts";
import { usageImportTable, usageLinkTable } from "./tables.ts";

/** What decides whether a subscription takes an event: its life, in Unix ms, the end exclusive. */
export interface MeteredSubscription {
  id: number;
  starts_ms: number;
  ends_ms: number | null;
}

const meteredSubscriptions = preparedQuery("metered_subscriptions", (q) => {
  const { id, company_id, external_subscription_id, started_at, ends_at } = q.use(subscriptionTable);
  return q
    .select({ id, external_subscription_id, started_at, ends_at })
    .from(q.use(subscriptionTable))
    .where(
      and(
        eq(company_id, sql.placeholder("company_id")),
        textInList(external_subscription_id, "external_ids"),
      ),
    );
});

/** The company's subscriptions, at least those with these external ids; unknown ids are left out. */
export const findMeteredSubscriptions = batchedRead(readMeteredSubscriptions);

async function readMeteredSubscriptions(
  q: Reads,
  company_id: number,
  external_ids: string[],
): Promise<Map<string, MeteredSubscription>> {
  if (external_ids.length === 0) return new Map();
  const rows = await meteredSubscriptions(q, { company_id, external_ids: JSON.stringify(external_ids) });
  return new Map(
    rows.map((row) => [
      row.external_subscription_id,
      {
        id: row.id,
        starts_ms: instant(row.started_at).epochMilliseconds,
        ends_ms: row.ends_at === null ? null : instant(row.ends_at).epochMilliseconds,
      },
    ]),
  );
}

/** Which subscriptions are searched; every list given narrows further. */
export interface SearchedSubscriptions {
  subscription_ids?: readonly number[] | undefined;
  external_subscription_ids?: readonly string[] | undefined;
  client_ids?: readonly number[] | undefined;
  product_ids?: readonly number[] | undefined;
}

/** The ids of the subscriptions that match. */
export async function listSearchedSubscriptions(
  tx: ReadTx,
  filter: SearchedSubscriptions,
): Promise<number[]> {
  const t = tx.q.use(subscriptionTable);
  const { subscription_ids, external_subscription_ids, client_ids, product_ids } = filter;
  const [row] = await tx.q
    .select({ ids: listOf(t.id) })
    .from(t)
    .where(
      and(
        inScope(tx),
        subscription_ids && inArray(t.id, [...subscription_ids]),
        external_subscription_ids && inArray(t.external_subscription_id, [...external_subscription_ids]),
        client_ids && inArray(t.client_id, [...client_ids]),
        product_ids && inArray(t.product_id, [...product_ids]),
      ),
    );
  return row?.ids ?? [];
}

/** The external ids of all subscriptions in the scope, by id. */
export async function listExternalIds(tx: ReadTx): Promise<Map<number, string>> {
  const t = tx.q.use(subscriptionTable);
  const [row] = await tx.q
    .select({ ids: listOf(t.id), external_ids: listOf(t.external_subscription_id) })
    .from(t)
    .where(inScope(tx));
  const external_ids = row?.external_ids ?? [];
  return new Map((row?.ids ?? []).map((id, i) => [id, external_ids[i] ?? ""]));
}

/** Those of the ids that are subscriptions in the scope. */
export function listKnownSubscriptionIds(tx: ReadTx, ids: readonly number[]): Promise<number[]> {
  return listSearchedSubscriptions(tx, { subscription_ids: ids });
}

/** Those of the ids that are clients in the scope, deleted ones too: their usage stays on record. */
export async function listKnownClientIds({ q, scope }: ReadTx, ids: readonly number[]): Promise<number[]> {
  const t = q.use(clientTable);
  const own = scope.client_id === undefined ? undefined : eq(t.id, scope.client_id);
  const rows = await q
    .select({ id: t.id })
    .from(t)
    .where(and(eq(t.company_id, scope.company_id), own, inArray(t.id, [...ids])));
  return rows.map(({ id }) => id);
}

/** Those of the ids that are products in the scope: for a client user, the products that it has or had. */
export async function listKnownProductIds(tx: ReadTx, ids: readonly number[]): Promise<number[]> {
  const { q, scope } = tx;
  const products = q.use(productTable);
  const subscriptions = q.use(subscriptionTable);
  if (scope.client_id === undefined) {
    const rows = await q
      .select({ id: products.id })
      .from(products)
      .where(and(eq(products.company_id, scope.company_id), inArray(products.id, [...ids])));
    return rows.map(({ id }) => id);
  }
  const rows = await q
    .selectDistinct({ id: subscriptions.product_id })
    .from(subscriptions)
    .where(and(inScope(tx), inArray(subscriptions.product_id, [...ids])));
  return rows.map(({ id }) => id);
}

/** How a subscription, its client and its product are called. */
export interface SubscriptionNames {
  id: number;
  external_subscription_id: string;
  name: string;
  client_id: number;
  client_name: string;
  product_id: number;
  product_name: string;
}

/** Subscriptions that are named in one statement: what reading so many holds up is a few ms. */
const NAMES_AT_ONCE = 1_000;

/** The names around subscriptions, by subscription id. */
export async function findSubscriptionNames(
  tx: ReadTx,
  ids: readonly number[],
): Promise<Map<number, SubscriptionNames>> {
  const s = tx.q.use(subscriptionTable);
  const clients = tx.q.use(clientTable);
  const products = tx.q.use(productTable);
  const columns = {
    id: s.id,
    external_subscription_id: s.external_subscription_id,
    name: s.name,
    client_id: s.client_id,
    product_id: s.product_id,
  };
  const client_names = new Map<number, string>();
  const product_names = new Map<number, string>();
  const names = new Map<number, SubscriptionNames>();
  for await (const some of interleave(ids, NAMES_AT_ONCE)) {
    const rows = await tx.q
      .select(columns)
      .from(s)
      .where(and(idIn(s.id, some), filterOnly(inScope(tx))));
    const client_ids = rows.map(({ client_id }) => client_id);
    const product_ids = rows.map(({ product_id }) => product_id);
    await addNames(tx.q, clients, client_names, client_ids);
    await addNames(tx.q, products, product_names, product_ids);
    for (const row of rows) {
      const client_name = client_names.get(row.client_id) ?? "";
      names.set(row.id, { ...row, client_name, product_name: product_names.get(row.product_id) ?? "" });
    }
  }
  return names;
}

/** Adds the names of those that are not known yet: many subscriptions share a few. */
async function addNames(
  q: Reads,
  table: ReturnType<typeof clientTable> | ReturnType<typeof productTable>,
  names: Map<number, string>,
  ids: readonly number[],
): Promise<void> {
  const unknown = [...new Set(ids)].filter((id) => !names.has(id));
  if (unknown.length === 0) return;
  const rows = await q.select({ id: table.id, name: table.name }).from(table).where(idIn(table.id, unknown));
  for (const { id, name } of rows) names.set(id, name);
}

function inScope({ q, scope }: ReadTx): SQL | undefined {
  const subscriptions = q.use(subscriptionTable);
  return and(
    eq(subscriptions.company_id, scope.company_id),
    scope.client_id === undefined ? undefined : eq(subscriptions.client_id, scope.client_id),
  );
}

/** The database's usage store as far as it knows it. */
export async function findLink(q: Reads) {
  const [link] = await q.select().from(q.use(usageLinkTable));
  return link;
}

/** Gives the database its name, where it has none. */
export async function insertLink(q: Queries, now: Temporal.Instant, database_id: string): Promise<void> {
  const unknown = { store_id: null, opening_number: 0, opening_id: null, last_seq: 0, place: null };
  await q
    .insert(q.use(usageLinkTable))
    .values({ id: 1, database_id, ...unknown, ...stamped(now) })
    .onConflictDoNothing();
}

/** Writes down which usage store was opened with the database. */
export async function updateLink(
  q: Queries,
  now: Temporal.Instant,
  link: { store_id: string; opening_number: number; opening_id: string; last_seq: number; place: string },
): Promise<void> {
  await q.update(q.use(usageLinkTable)).set({ ...link, updated_at: iso(now) });
}

/** Notes how far the store has got; returns whether this opening of it is still the last one. */
export async function updateProgress(
  q: Queries,
  now: Temporal.Instant,
  opening_id: string,
  last_seq: number,
): Promise<boolean> {
  const t = q.use(usageLinkTable);
  const rows = await q
    .update(t)
    .set({ last_seq, updated_at: iso(now) })
    .where(eq(t.opening_id, opening_id))
    .returning({ id: t.id });
  return rows.length > 0;
}

/** The highest keys that usage may be stored under. */
export async function findLastKeys(q: Reads): Promise<Pick<StoreFacts, "company_id" | "subscription_id">> {
  const companies = q.use(companyTable);
  const subscriptions = q.use(subscriptionTable);
  return { company_id: await lastKey(q, companies), subscription_id: await lastKey(q, subscriptions) };
}

/** Keeps the keys that usage is stored under from being given again. */
export async function raiseKeys(
  q: Queries,
  { company_id, subscription_id }: Pick<StoreFacts, "company_id" | "subscription_id">,
): Promise<void> {
  await raiseKey(q, q.use(companyTable), company_id);
  await raiseKey(q, q.use(subscriptionTable), subscription_id);
}

/** Files that the company imported before, the newest. */
export function listUsageImports(
  { q, scope: { company_id } }: ReadTx,
  limit: number,
): Promise<KnownImport[]> {
  const t = q.use(usageImportTable);
  return q
    .select({ file_name: t.file_name, digest: t.digest, bytes: t.bytes, rows: t.rows })
    .from(t)
    .where(eq(t.company_id, company_id))
    .orderBy(desc(t.id))
    .limit(limit);
}

/** Notes that rows of a file, up to that one, may be stored from here on. */
export async function saveUsageImport(
  { q, scope: { company_id } }: Tx,
  file: KnownImport,
  now: Temporal.Instant,
): Promise<void> {
  const t = q.use(usageImportTable);
  const same_file = and(eq(t.company_id, company_id), eq(t.digest, file.digest));
  const noted = await q
    .update(t)
    .set({
      rows: sql`CASE WHEN ${t.rows} < ${file.rows} THEN ${file.rows} ELSE ${t.rows} END`,
      updated_at: iso(now),
    })
    .where(same_file)
    .returning({ id: t.id });
  if (noted.length === 0) await q.insert(t).values({ company_id, ...file, ...stamped(now) });
}
