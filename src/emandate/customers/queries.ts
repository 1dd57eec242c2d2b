import { type Static, Type } from "@sinclair/typebox";
import { and, count, eq, inArray, or, sql } from "drizzle-orm";
import { maskIcNumber } from "../../core/malaysia.ts";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { companyOwned, containing } from "../../store/expressions.ts";
import { columnsOf, findRow, listRows, orderOf } from "../../store/list_rows.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { selectRows } from "../../store/select_rows.ts";
import { mandateTable } from "../mandates/tables.ts";
import { EmandateCustomer, type CustomerInput } from "./model.ts";
import { fillBlanks } from "./rules.ts";
import { emandateCustomerTable } from "./tables.ts";

/** A customer as stored: its IC number has all its digits. */
const StoredCustomer = Type.Omit(EmandateCustomer, ["mandate_count", "active_mandate_count"]);
type StoredCustomer = Static<typeof StoredCustomer>;

const customerColumns = (q: Reads) => columnsOf(q.use(emandateCustomerTable), StoredCustomer);

/** Customers by id with their IC numbers masked, and how many there are in all. */
export async function listEmandateCustomers(
  tx: ReadTx,
  { search, sort }: { search?: string; sort?: string },
  slice: Slice,
): Promise<{ rows: EmandateCustomer[]; total: number }> {
  const t = tx.q.use(emandateCustomerTable);
  const where = and(companyOwned(t, tx.scope), or(containing(t.name, search), containing(t.email, search)));
  const columns = customerColumns(tx.q);
  const { rows, total } = await listRows(tx.q, t, { columns, where, order: orderOf(t, sort), slice });
  return { rows: (await withCounts(tx, rows)).map(masked), total };
}

/** A customer with its whole IC number. */
export async function findEmandateCustomer(tx: ReadTx, id: number): Promise<EmandateCustomer | undefined> {
  const t = tx.q.use(emandateCustomerTable);
  const rows = await selectRows(tx.q, t, {
    columns: customerColumns(tx.q),
    where: and(companyOwned(t, tx.scope), eq(t.id, id)),
  });
  return (await withCounts(tx, rows))[0];
}

/**
 * The company's customer with this email, created when there is none; blanks of an existing one are filled. Of
 * concurrent calls with one new email, the first creates it. `ic_path` is the field that holds the IC number.
 * Errors: invalid where that is not the customer's.
 */
export async function findOrCreateCustomer(
  { q, scope, now }: Tx,
  input: CustomerInput,
  ic_path: string,
): Promise<StoredCustomer> {
  const t = q.use(emandateCustomerTable);
  const columns = customerColumns(q);
  const { name, email, phone = null, ic_number = null } = input;
  const by_email = and(companyOwned(t, scope), eq(t.email, email));
  const existing = await findRow(q, t, { columns, where: by_email });
  if (!existing) {
    const values = { company_id: scope.company_id, name, email, phone, ic_number, ...stamped(now) };
    // Where another created it meanwhile, PostgreSQL runs the transaction again, which then finds it.
    return exactlyOne(await q.insert(t).values(values).onConflictDoNothing().returning(columns));
  }
  const filled = fillBlanks(existing, input, ic_path);
  if (Object.keys(filled).length === 0) return existing;
  const change = { ...filled, updated_at: iso(now) };
  return exactlyOne(await q.update(t).set(change).where(by_email).returning(columns));
}

function masked(customer: EmandateCustomer): EmandateCustomer {
  const { ic_number } = customer;
  return { ...customer, ic_number: ic_number === null ? null : maskIcNumber(ic_number) };
}

async function withCounts({ q, scope }: ReadTx, rows: StoredCustomer[]): Promise<EmandateCustomer[]> {
  const t = q.use(mandateTable);
  const ids = rows.map(({ id }) => id);
  const count_rows = await q
    .select({
      customer_id: t.customer_id,
      mandate_count: count(),
      active_mandate_count: sql`count(CASE WHEN ${t.status} = 'active' THEN 1 END)`.mapWith(Number),
    })
    .from(t)
    .where(and(companyOwned(t, scope), inArray(t.customer_id, ids)))
    .groupBy(t.customer_id);
  const counts = new Map(count_rows.map(({ customer_id, ...counts_of }) => [customer_id, counts_of]));
  return rows.map((row) => ({
    ...row,
    ...(counts.get(row.id) ?? { mandate_count: 0, active_mandate_count: 0 }),
  }));
}
