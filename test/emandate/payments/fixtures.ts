import type { Deps } from "../../../src/app/deps.ts";
import { startOfDay } from "../../../src/emandate/working_days.ts";
import { iso, type IsoInstant } from "../../../src/core/time.ts";
import { emandateCustomerTable } from "../../../src/emandate/customers/tables.ts";
import { findOrderByNumber } from "../../../src/emandate/orders/queries.ts";
import { applyPaymentResults } from "../../../src/emandate/results/apply_to_payment.ts";
import { resultOf } from "../../../src/emandate/scheme/response_codes.ts";
import type { SchemeResult } from "../../../src/emandate/scheme/connector.ts";
import { mandateTable } from "../../../src/emandate/mandates/tables.ts";
import { stamped } from "../../../src/store/columns.ts";
import { exactlyOne } from "../../../src/store/exactly_one.ts";
import type { Queries } from "../../../src/store/store.ts";
import type { Api, Json, Tenant } from "../../support/harness.ts";

type MandateRow = ReturnType<typeof mandateTable>["$inferInsert"];

/** Mandates as a bank has approved them, without the way there. */
export async function insertMandates(
  q: Queries,
  company_id: number,
  now: Temporal.Instant,
  mandates: readonly Partial<MandateRow>[],
  customer_name = "Waiting Customer",
): Promise<number[]> {
  const t = q.use(mandateTable);
  const customers = q.use(emandateCustomerTable);
  const stamps = stamped(now);
  const email = `${crypto.randomUUID()}@example.com`;
  const rows = await q
    .insert(customers)
    .values({ company_id, name: customer_name, email, ...stamps })
    .returning({ id: customers.id });
  const customer_id = exactlyOne(rows).id;
  const made = await q
    .insert(t)
    .values(
      mandates.map((mandate) => ({
        company_id,
        reference: crypto.randomUUID(),
        customer_id,
        connector: "sandbox" as const,
        application_type: "01" as const,
        status: "active" as const,
        bankscheme_txn_amount: "50.00",
        max_amount: "100.00",
        max_no_debit: "1",
        frequency: "Monthly" as const,
        activated_at: iso(now),
        ...stamps,
        ...mandate,
      })),
    )
    .returning({ id: t.id });
  return made.map(({ id }) => id);
}

/** A mandate of a tenant that is collected from `first` on; by hand only where that is null. */
export async function addMandate(
  deps: Deps,
  { company_id }: Pick<Tenant, "company_id">,
  first: string | null,
  over: Partial<MandateRow> = {},
): Promise<number> {
  const collected =
    first === null
      ? { bankscheme_txn_amount: null }
      : { anchor_date: first, next_collection_at: iso(startOfDay(Temporal.PlainDate.from(first))) };
  const ids = await deps.store.tx((q) =>
    insertMandates(q, company_id, deps.clock.now(), [{ ...collected, ...over }]),
  );
  return exactlyOne(ids);
}

/** Lets the scheme say something of an order; returns whether that changed anything. */
export async function answer(
  deps: Deps,
  { company_id }: Pick<Tenant, "company_id">,
  order_no: string,
  result: SchemeResult,
): Promise<boolean> {
  return deps.store.tx(async (q) => {
    const order = await findOrderByNumber(q, order_no);
    if (!order) throw new Error(`No such order: ${order_no}`);
    const { changed } = await applyPaymentResults({ q, scope: { company_id }, now: deps.clock.now() }, [
      { order, result },
    ]);
    return changed.has(order.id);
  });
}

export const PAID = resultOf("00", "TXN1");
export const NO_FUNDS = resultOf("51");
export const CLOSED = resultOf("53");
export const CHARGED_BACK: SchemeResult = { ...PAID, status: "charged_back", message: "Charged back" };

export async function paymentsOf(api: Api, mandate_id: number): Promise<Json[]> {
  const { body } = await api("GET", `/emandate/payments?limit=100&mandate_id=${mandate_id}`);
  return body.data.toReversed();
}

export async function getPayment(api: Api, id: number): Promise<Json> {
  return (await api("GET", `/emandate/payments/${id}`)).body.data;
}

/** What was told of a company's payments, from the first on: "paid 7". */
export async function recordedEvents(api: Api): Promise<string[]> {
  const { body } = await api("GET", "/events?limit=200&type=emandate.payment.*");
  return body.data
    .toReversed()
    .map(({ type, data }: Json) => `${type.replace("emandate.payment.", "")} ${data.id}`);
}

/** When a day begins in Kuala Lumpur, and `hours` later. */
export function at(day: string, hours = 9): IsoInstant {
  return iso(startOfDay(Temporal.PlainDate.from(day)).add({ hours }));
}
