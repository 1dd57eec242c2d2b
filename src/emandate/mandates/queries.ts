import { and, asc, desc, eq, getTableColumns, gte, inArray, isNotNull, lt, or, type SQL } from "drizzle-orm";
import { maskIcNumber } from "../../core/malaysia.ts";
import { orNotFound } from "../../core/errors.ts";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { insertRow, insertRows } from "../../store/insert_rows.ts";
import { columnsOf, findRow, matching, orderOf } from "../../store/list_rows.ts";
import { companyOwned, containing, idListed } from "../../store/expressions.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { countRows, selectRows } from "../../store/select_rows.ts";
import { emandateCustomerTable } from "../customers/tables.ts";
import { modeOf } from "../products/rules.ts";
import { dayAt } from "../working_days.ts";
import { emandateProductTable } from "../products/tables.ts";
import { type Mandate, MandateEvent, type MandateStatus } from "./model.ts";
import { nextReference, referencePrefix } from "./rules.ts";
import { mandateEventTable, mandateTable } from "./tables.ts";

/** A mandate as it is stored. */
export type StoredMandate = ReturnType<typeof mandateTable>["$inferSelect"];

/** A filter for mandates; each field given narrows further. */
export interface MandateFilter {
  id?: number;
  /** Such as "7,8". */
  ids?: string;
  status?: MandateStatus;
  customer_id?: number;
  product_id?: number;
  search?: string;
}

/** Mandates, newest first, and how many there are in all. */
export async function listMandates(
  tx: ReadTx,
  { sort = "-id", ...filter }: MandateFilter & { sort?: string },
  { limit, offset }: Slice,
): Promise<{ rows: Mandate[]; total: number }> {
  const t = tx.q.use(mandateTable);
  const customers = tx.q.use(emandateCustomerTable);
  const where = selected(tx, filter);
  const rows = await selectMandates(tx.q)
    .where(where)
    .orderBy(...orderOf(t, sort))
    .limit(limit)
    .offset(offset);
  // The count joins the customer only for a search.
  const total =
    filter.search === undefined
      ? await countRows(tx.q, t, where)
      : await tx.q.$count(
          tx.q
            .select({ id: t.id })
            .from(t)
            .innerJoin(customers, eq(customers.id, t.customer_id))
            .where(where)
            .as("found"),
        );
  return { rows: rows.map(toMandate), total };
}

/** Finds a mandate as it is shown. Errors: not_found. */
export async function requireMandate(tx: ReadTx, id: number): Promise<Mandate> {
  const [row] = await selectMandates(tx.q).where(selected(tx, { id }));
  return toMandate(orNotFound(row, "Mandate", id));
}

/** Finds a mandate as it is stored. Errors: not_found. */
export async function requireStoredMandate(tx: ReadTx, id: number): Promise<StoredMandate> {
  return orNotFound(await findStoredMandate(tx, id), "Mandate", id);
}

export async function findStoredMandate(
  { q, scope }: ReadTx,
  id: number,
): Promise<StoredMandate | undefined> {
  const t = q.use(mandateTable);
  const row = await findRow(q, t, {
    columns: getTableColumns(t),
    where: and(companyOwned(t, scope), eq(t.id, id)),
  });
  return row;
}

function selected(
  { q, scope }: ReadTx,
  { ids, search, product_id: emandate_product_id, ...rest }: MandateFilter,
): SQL | undefined {
  const t = q.use(mandateTable);
  const customers = q.use(emandateCustomerTable);
  return and(
    companyOwned(t, scope),
    idListed(t.id, ids),
    matching(t, { ...rest, emandate_product_id }),
    or(
      containing(customers.name, search),
      containing(customers.email, search),
      containing(t.reference, search),
    ),
  );
}

/** Mandates with their customers and products, deleted products included. */
function selectMandates(q: Reads) {
  const t = q.use(mandateTable);
  const customers = q.use(emandateCustomerTable);
  const products = q.use(emandateProductTable);
  const { name, email, phone, ic_number } = customers;
  const { product_code, product_name } = products;
  return q
    .select({
      stored: t,
      customer: { id: customers.id, name, email, phone, ic_number },
      product: { id: products.id, product_code, product_name },
    })
    .from(t)
    .innerJoin(customers, eq(customers.id, t.customer_id))
    .leftJoin(products, eq(products.id, t.emandate_product_id))
    .$dynamic();
}

type Selected = Awaited<ReturnType<typeof selectMandates>>[number];

function toMandate({ stored, customer, product }: Selected): Mandate {
  const { status_before: _, anchor_date: __, ...shown } = stored;
  const { ic_number } = customer;
  return {
    ...shown,
    customer: { ...customer, ic_number: ic_number === null ? null : maskIcNumber(ic_number) },
    product,
    frequency_mode: modeOf(stored.frequency),
    currency: "MYR",
  };
}

type NewMandate = Pick<
  StoredMandate,
  | "customer_id"
  | "emandate_product_id"
  | "connector"
  | "bankscheme_txn_amount"
  | "max_amount"
  | "max_no_debit"
  | "frequency"
>;

/** Inserts a mandate with the next reference of the day. Errors: conflict after the last one of a day. */
export async function insertMandate({ q, scope, now }: Tx, mandate: NewMandate): Promise<StoredMandate> {
  const t = q.use(mandateTable);
  const prefix = referencePrefix(dayAt(now));
  const last = await findRow(q, t, {
    columns: { reference: t.reference },
    // ":" sorts after all digits.
    where: and(companyOwned(t, scope), gte(t.reference, prefix), lt(t.reference, `${prefix}:`)),
    order: desc(t.reference),
    limit: 1,
  });
  const row = {
    ...mandate,
    company_id: scope.company_id,
    reference: nextReference(last?.reference, prefix),
    application_type: "01" as const,
    status: "pending" as const,
    ...stamped(now),
  };
  return insertRow(q, t, row, getTableColumns(t));
}

/** Changes a mandate by compare-and-set on the status that was read; returns undefined where that has changed. */
export async function updateMandate(
  { q, scope, now }: Tx,
  { id, status }: Pick<StoredMandate, "id" | "status">,
  change: Partial<Omit<StoredMandate, "id" | "company_id" | "created_at" | "updated_at">>,
): Promise<StoredMandate | undefined> {
  const t = q.use(mandateTable);
  const [row] = await q
    .update(t)
    .set({ ...change, updated_at: iso(now) })
    .where(and(companyOwned(t, scope), eq(t.id, id), eq(t.status, status)))
    .returning();
  return row;
}

/** Adds an entry to the history of a mandate. */
export async function insertMandateEvent(
  { q, scope: { company_id } }: Tx,
  mandate_id: number,
  event: MandateEvent,
): Promise<void> {
  await insertRows(q, q.use(mandateEventTable), [{ company_id, mandate_id, ...event }]);
}

/** The history of a mandate, newest first. */
export async function listMandateEvents(
  { q, scope }: ReadTx,
  mandate_id: number,
  limit: number,
): Promise<MandateEvent[]> {
  const t = q.use(mandateEventTable);
  return selectRows(q, t, {
    columns: columnsOf(t, MandateEvent),
    where: and(companyOwned(t, scope), eq(t.mandate_id, mandate_id)),
    order: desc(t.id),
    limit,
  });
}

/** At most `limit` mandates in force whose last day has passed. */
export async function listExpired({ q, scope, now }: ReadTx, limit: number): Promise<StoredMandate[]> {
  const t = q.use(mandateTable);
  return selectRows(q, t, {
    columns: getTableColumns(t),
    where: and(companyOwned(t, scope), hasPassed(q, now)),
    order: [asc(t.expiry_date), asc(t.id)],
    limit,
  });
}

/** The companies with mandates whose last day has passed; for the job, which has no scope. */
export async function listCompaniesWithExpiredMandates(q: Reads, now: Temporal.Instant): Promise<number[]> {
  const t = q.use(mandateTable);
  const rows = await q.selectDistinct({ company_id: t.company_id }).from(t).where(hasPassed(q, now));
  return rows.map(({ company_id }) => company_id);
}

/** Whether a mandate expires now: in the states from which `MANDATE_TRANSITIONS` lets it. */
function hasPassed(q: Reads, now: Temporal.Instant): SQL | undefined {
  const t = q.use(mandateTable);
  return and(
    inArray(t.status, ["active", "suspended"]),
    isNotNull(t.expiry_date),
    lt(t.expiry_date, dayAt(now).toString()),
  );
}
