import { and, asc, eq, isNull, ne, or, type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { userTable } from "../../access/users/tables.ts";
import { billingModelTable } from "../../billing/billing_models/tables.ts";
import { productTable } from "../../billing/products/tables.ts";
import { billingRecordTable } from "../../billing/records/tables.ts";
import { subscriptionTable } from "../../billing/subscriptions/tables.ts";
import { emandateCustomerTable } from "../../emandate/customers/tables.ts";
import { mandateTable } from "../../emandate/mandates/tables.ts";
import { loanApplicationTable } from "../../loans/applications/tables.ts";
import { contains, startingWith } from "../../store/expressions.ts";
import type { RowOf, Selection } from "../../store/row_of.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { ReadTx, Reads } from "../../store/store.ts";
import { clientTable } from "../../tenancy/clients/tables.ts";
import { LIMITS } from "../limits.ts";
import type { Found, FoundKind } from "./model.ts";

/** A record, and what its path has between that of its kind and its number. */
export type FoundRow = Omit<Found, "path"> & { below?: string };

/** What is searched of one kind of record: the columns shown, and the texts that may match. */
interface Searched<F extends Selection & { readonly id: PgColumn }> {
  table: PgTable;
  columns: F;
  joins?: readonly (readonly [PgTable, SQL | undefined])[];
  /** The rows that the caller may see. */
  where: SQL | undefined;
  /** Those with an index first. */
  texts: readonly PgColumn[];
}

/**
 * A few records of a kind: the one of that number, then those with a text that begins with what is looked for, which an
 * index finds, then those that have it anywhere.
 */
async function find<F extends Selection & { readonly id: PgColumn }>(
  q: Reads,
  { table, columns, joins = [], where, texts }: Searched<F>,
  text: string,
): Promise<RowOf<F>[]> {
  const found = new Map<number, RowOf<F>>();
  const add = async (condition: SQL, order: SQL) => {
    const limit = LIMITS.found_of_a_kind;
    if (found.size >= limit) return;
    const rows = await selectRows(q, table, { columns, joins, where: and(where, condition), order, limit });
    for (const row of rows) if (found.size < limit) found.set(Number(row["id"]), row);
  };
  const number = numberIn(text);
  if (number !== null) await add(eq(columns.id, number), asc(columns.id));
  for (const column of texts) await add(startingWith(column, text), sql`lower(${column})`);
  // One pass over the rows, whatever the number of their texts.
  const inside = or(...texts.map((column) => contains(column, text)));
  if (inside !== undefined) await add(inside, asc(columns.id));
  return [...found.values()];
}

/** The number that people write as 7 or #7. */
function numberIn(text: string): number | null {
  const [, digits] = /^#?(\d{1,15})$/.exec(text) ?? [];
  return digits === undefined ? null : Number(digits);
}

/** Finds records of each kind; a client user sees its own client's subscriptions and bills. */
export const FINDERS: Record<FoundKind, (tx: ReadTx, text: string) => Promise<FoundRow[]>> = {
  client: (tx, text) => findNamed(tx, "client", tx.q.use(clientTable), text),
  product: (tx, text) => findNamed(tx, "product", tx.q.use(productTable), text),
  async subscription({ q, scope }, text) {
    const t = q.use(subscriptionTable);
    const own = scope.client_id === undefined ? undefined : eq(t.client_id, scope.client_id);
    const rows = await find(
      q,
      {
        table: t,
        columns: { id: t.id, name: t.name, note: t.external_subscription_id },
        where: and(eq(t.company_id, scope.company_id), own),
        texts: [t.name, t.external_subscription_id],
      },
      text,
    );
    return rows.map((row) => ({ kind: "subscription", ...row }));
  },
  async billing_model({ q, scope }, text) {
    const t = q.use(billingModelTable);
    const rows = await find(
      q,
      {
        table: t,
        columns: { id: t.id, name: t.name, note: t.currency },
        where: and(eq(t.company_id, scope.company_id), eq(t.status, "active")),
        texts: [t.name],
      },
      text,
    );
    return rows.map((row) => ({ kind: "billing_model", ...row }));
  },
  async billing_record({ q, scope }, text) {
    const t = q.use(billingRecordTable);
    const subscriptions = q.use(subscriptionTable);
    const own = scope.client_id === undefined ? undefined : eq(subscriptions.client_id, scope.client_id);
    const { id, currency, totalCharges, billingStartAt, billingEndAt } = t;
    const rows = await find(
      q,
      {
        table: t,
        columns: { id, currency, totalCharges, billingStartAt, billingEndAt, note: subscriptions.name },
        joins: [[subscriptions, eq(subscriptions.id, t.subscription_id)]],
        where: and(eq(t.company_id, scope.company_id), own),
        texts: [],
      },
      text,
    );
    return rows.map(({ id: number, note, ...bill }) => ({
      kind: "billing_record",
      id: number,
      name: `${bill.billingStartAt.slice(0, 10)} to ${bill.billingEndAt.slice(0, 10)}: ${bill.currency} ${bill.totalCharges}`,
      note,
    }));
  },
  async user({ q, scope }, text) {
    const t = q.use(userTable);
    const rows = await find(
      q,
      {
        table: t,
        columns: { id: t.id, name: t.name, email: t.email },
        where: eq(t.company_id, scope.company_id),
        texts: [t.email, t.name],
      },
      text,
    );
    return rows.map(({ id, name, email }) => ({ kind: "user", id, name: name ?? email, note: email }));
  },
  async mandate({ q, scope }, text) {
    const t = q.use(mandateTable);
    const customers = q.use(emandateCustomerTable);
    const rows = await find(
      q,
      {
        table: t,
        columns: { id: t.id, name: customers.name, note: t.reference },
        joins: [[customers, eq(customers.id, t.customer_id)]],
        where: eq(t.company_id, scope.company_id),
        texts: [t.reference, customers.name, customers.email],
      },
      text,
    );
    return rows.map((row) => ({ kind: "mandate", ...row }));
  },
  async application({ q, scope }, text) {
    const t = q.use(loanApplicationTable);
    const rows = await find(
      q,
      {
        table: t,
        columns: { id: t.id, name: t.borrower_name, note: t.reference, environment: t.environment },
        // A draft is its agent's alone.
        where: and(eq(t.company_id, scope.company_id), isNull(t.deleted_at), ne(t.status, "draft")),
        texts: [t.reference, t.external_reference, t.borrower_name],
      },
      text,
    );
    return rows.map(({ environment, ...row }) => ({
      kind: "application",
      ...row,
      below: `/${environment}/applications`,
    }));
  },
};

async function findNamed(
  { q, scope }: ReadTx,
  kind: FoundKind,
  t: ReturnType<typeof clientTable> | ReturnType<typeof productTable>,
  text: string,
): Promise<FoundRow[]> {
  const where = and(eq(t.company_id, scope.company_id), isNull(t.deleted_at));
  const columns = { id: t.id, name: t.name };
  const rows = await find(q, { table: t, columns, where, texts: [t.name] }, text);
  return rows.map((row) => ({ kind, ...row, note: null }));
}
