import { and, asc, count, desc, eq, type SQL, sql } from "drizzle-orm";
import { type Amounts, sumAmounts } from "../../core/money.ts";
import type { Slice } from "../../core/pagination.ts";
import type { Sums } from "../../core/schema.ts";
import { clientTable } from "../../tenancy/clients/tables.ts";
import { amountsOf, idIn, numberOf, within } from "../../store/expressions.ts";
import { listRows, matching, rowsById } from "../../store/list_rows.ts";
import type { ReadTx } from "../../store/store.ts";
import { selectRows } from "../../store/select_rows.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";
import type { BillingRecord, RecordFilter, RecordSort } from "./model.ts";
import { inScope, ofSubscriptionsThat, recordColumns, toRecord } from "./queries.ts";
import { recordSteps } from "./step_queries.ts";
import { billingRecordTable } from "./tables.ts";

/** Records without their lines, the last written first unless `sort` names another order, and how many there are. */
export async function listRecords(
  tx: ReadTx,
  { sort, ...filter }: RecordFilter & { sort: RecordSort },
  slice: Slice,
): Promise<{ rows: BillingRecord[]; total: number }> {
  const t = tx.q.use(billingRecordTable);
  const where = and(inScope(tx), matches(tx, filter));
  const columns = recordColumns(tx.q);
  const order = orderOf(tx, sort);
  if (sort === "-id" || sort === "id") {
    const { rows, total } = await listRows(tx.q, t, { columns, where, order, slice });
    return { rows: rows.map(toRecord), total };
  }
  // An index has all that these are sorted by, and no lines: only the records of the page are read whole.
  const { rows, total } = await listRows(tx.q, t, { columns: { id: t.id }, where, order, slice });
  const found = await rowsById(
    tx.q,
    t,
    columns,
    rows.map(({ id }) => id),
  );
  return { rows: rows.flatMap(({ id }) => found.get(id) ?? []).map(toRecord), total };
}

/** What all records that match come to, by currency. */
export async function sumRecords(tx: ReadTx, filter: RecordFilter): Promise<Sums> {
  const t = tx.q.use(billingRecordTable);
  const { currency } = t;
  const billed: { currency: string; amounts: Amounts; rows: number }[] = [];
  for await (const step of recordSteps(tx, and(inScope(tx), matches(tx, filter)))) {
    const sums = { currency, amounts: amountsOf(t.totalCharges), rows: count() };
    billed.push(...(await tx.q.select(sums).from(t).where(step).groupBy(currency)));
  }
  return [...Map.groupBy(billed, (one) => one.currency)]
    .map(([of_currency, parts]) => ({
      currency: of_currency,
      amount: sumAmounts(
        parts.map(({ amounts }) => amounts),
        of_currency,
      ),
      rows: parts.reduce((all, { rows }) => all + rows, 0),
    }))
    .toSorted((a, b) => (a.currency < b.currency ? -1 : 1));
}

function orderOf({ q }: ReadTx, sort: RecordSort): SQL[] {
  const t = q.use(billingRecordTable);
  const direction = sort.startsWith("-") ? desc : asc;
  if (sort.endsWith("billingStartAt")) return [direction(t.billingStartAt), direction(t.id)];
  if (sort.endsWith("totalCharges")) return [direction(numberOf(t.totalCharges)), direction(t.id)];
  return [direction(t.id)];
}

function matches(
  { q }: ReadTx,
  { client_id, product_id, from, to, min_amount, max_amount, ...fields }: RecordFilter,
): SQL | undefined {
  const t = q.use(billingRecordTable);
  const amount = numberOf(t.totalCharges);
  return and(
    matching(t, fields),
    ofSubscriptionsThat(q, { client_id, product_id }),
    within(t.billingStartAt, { from, to }),
    min_amount === undefined ? undefined : sql`${amount} >= ${min_amount}`,
    max_amount === undefined ? undefined : sql`${amount} <= ${max_amount}`,
  );
}

/** The names that records are listed with: of their subscriptions and clients. */
export async function withNames(tx: ReadTx, records: readonly BillingRecord[]): Promise<BillingRecord[]> {
  const t = tx.q.use(subscriptionTable);
  const clients = tx.q.use(clientTable);
  const rows = await selectRows(tx.q, t, {
    columns: { id: t.id, subscription_name: t.name, client_id: t.client_id, client_name: clients.name },
    joins: [[clients, eq(clients.id, t.client_id)]],
    where: and(
      idIn(
        t.id,
        records.map(({ subscription_id }) => subscription_id),
      ),
      eq(t.company_id, tx.scope.company_id),
    ),
  });
  const names = new Map(rows.map(({ id, ...named }) => [id, named]));
  return records.map((record) => ({ ...record, ...names.get(record.subscription_id) }));
}
