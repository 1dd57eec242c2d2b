import { and, eq, gt } from "drizzle-orm";
import { mandateFlagTable } from "../../src/emandate/flags/tables.ts";
import { mandateTable } from "../../src/emandate/mandates/tables.ts";
import { mandateOrderTable } from "../../src/emandate/orders/tables.ts";
import { mandatePaymentTable } from "../../src/emandate/payments/tables.ts";
import { ORDERS_OF } from "../emandate/collections/company_records.ts";
import { samePeriod } from "../emandate/collections/oracle.ts";
import type { SimCompany } from "./company.ts";

export async function mandateRows({ base, company_id }: SimCompany) {
  const t = base.store.read.use(mandateTable);
  return base.store.read.select().from(t).where(eq(t.company_id, company_id)).orderBy(t.id);
}

export async function paymentRows({ base, company_id }: SimCompany) {
  const t = base.store.read.use(mandatePaymentTable);
  return base.store.read.select().from(t).where(eq(t.company_id, company_id)).orderBy(t.id);
}

async function orderRows({ base, company_id }: SimCompany) {
  const t = base.store.read.use(mandateOrderTable);
  return base.store.read.select().from(t).where(eq(t.company_id, company_id)).orderBy(t.id);
}

type Order = Awaited<ReturnType<typeof orderRows>>[number];
type Payment = Awaited<ReturnType<typeof paymentRows>>[number];
type Mandate = Awaited<ReturnType<typeof mandateRows>>[number];

/**
 * Holds debits against their mandates at the moment at which they are put on record: a period has no more that may
 * still move money, or came back from the bank, than the mandate allows. What the bank says later is another matter.
 */
export async function checkNewDebits(company: SimCompany): Promise<void> {
  const { base, company_id } = company;
  const t = base.store.read.use(mandateOrderTable);
  const is_new = and(eq(t.company_id, company_id), gt(t.id, company.checked_order_id), eq(t.kind, "debit"));
  const made = await base.store.read.select().from(t).where(is_new).orderBy(t.id);
  if (made.length === 0) return;
  company.checked_order_id = made.at(-1)?.id ?? 0;
  const [mandates, payments] = [await mandateRows(company), await paymentRows(company)];
  const orders = await orderRows(company);
  for (const { mandate_id, payment_id, order_no } of made) {
    const mandate = mandates.find(({ id }) => id === mandate_id);
    const payment = payments.find(({ id }) => id === payment_id);
    if (!mandate || !payment) throw new Error(`${order_no} is of no payment`);
    const day = Temporal.PlainDate.from(payment.debit_date);
    const same = payments.filter(
      (one) =>
        one.mandate_id === mandate_id &&
        samePeriod(mandate.frequency, Temporal.PlainDate.from(one.debit_date), day),
    );
    // A payment counts once, whatever became of its attempts: one that was paid twice is for a person to refund.
    const moves = ({ id, status }: Payment) =>
      status === "charged_back" ||
      orders.some((order) => order.payment_id === id && order.status !== "failed");
    const all = same.filter(moves).length;
    if (all > Number(mandate.max_no_debit))
      company.bank.violations.push(
        `${order_no} is debit ${all} around ${day.toString()}, and the mandate allows ${mandate.max_no_debit}: ${same
          .map(
            (one) =>
              `${one.status} ${one.debit_date} ${orders
                .filter((order) => order.payment_id === one.id)
                .map((order) => `${order.order_no} ${order.status}`)
                .join(", ")}`,
          )
          .join("; ")}`,
      );
  }
}

/** Holds debits and their money against the bank and the mandates. Errors: throws the first that does not hold. */
export async function checkDebits(company: SimCompany): Promise<void> {
  const { bank, base } = company;
  const [violation] = bank.violations;
  if (violation !== undefined) throw new Error(violation);
  const [mandates, payments] = [await mandateRows(company), await paymentRows(company)];
  const orders = (await orderRows(company)).filter(({ kind }) => kind === "debit");
  const t = base.store.read.use(mandateFlagTable);
  const flags = await base.store.read.select().from(t).where(eq(t.company_id, company.company_id));
  const flagged = new Set(flags.map(({ order_id }) => order_id));
  const by_number = new Map(orders.map((order) => [order.order_no, order]));
  for (const { order_no, amount, says } of bank.sent.values()) {
    const order = by_number.get(order_no);
    if (order?.amount !== amount)
      throw new Error(`${order_no} was sent over ${amount}, and is not so on record`);
    // What the bank said last is what counts, or a person was told.
    if (says === "paid" && order.status !== "succeeded" && !flagged.has(order.id))
      throw new Error(`${order_no} was paid, and is ${order.status}, and nobody was told`);
    if (says !== undefined && says !== "paid" && order.status === "succeeded" && !flagged.has(order.id))
      throw new Error(`${order_no} was told to be ${says}, and is ${order.status}, and nobody was told`);
  }
  checkPayments(payments, orders, flagged);
  for (const mandate of mandates) {
    checkPeriods(mandate, payments, orders, flagged);
    checkDue(company, mandate, payments);
  }
}

/** Money: a payment is what its counting attempt is, and moves at most once unless a person was told. */
function checkPayments(
  payments: readonly Payment[],
  orders: readonly Order[],
  flagged: ReadonlySet<number>,
): void {
  const by_payment = Map.groupBy(orders, ({ payment_id }) => payment_id);
  for (const payment of payments) {
    const own = by_payment.get(payment.id) ?? [];
    const counting = own.find(({ order_no }) => order_no === payment.order_no);
    if (!ORDERS_OF[payment.status].includes(counting?.status ?? "none"))
      throw new Error(`Payment ${payment.id} is ${payment.status}, its attempt ${counting?.status}`);
    if (payment.attempt_count !== own.length) throw new Error(`Payment ${payment.id} miscounts its attempts`);
    const moved = own.filter(({ status }) => status === "succeeded");
    const open = own.filter(({ status }) => status !== "failed");
    if (open.length > 1 && !own.some(({ id }) => flagged.has(id)))
      throw new Error(
        `Payment ${payment.id} has ${open.length} attempts that did not fail, and nobody was told`,
      );
    if ((payment.status === "paid") !== moved.length > 0 && !own.some(({ id }) => flagged.has(id)))
      throw new Error(`Payment ${payment.id} is ${payment.status}, and ${moved.length} attempts moved money`);
    if (own.some(({ amount }) => amount !== payment.amount))
      throw new Error(`Payment ${payment.id} was sent over another amount`);
  }
}

/** A period has no more debits that did not fail than its mandate allows, unless a person was told. */
function checkPeriods(
  { id, frequency, max_no_debit, reference }: Mandate,
  payments: readonly Payment[],
  orders: readonly Order[],
  flagged: ReadonlySet<number>,
): void {
  const own = payments.filter(({ mandate_id }) => mandate_id === id);
  const counts = (payment: Payment) => {
    const attempts = orders.filter(({ payment_id }) => payment_id === payment.id);
    return {
      day: Temporal.PlainDate.from(payment.debit_date),
      live: attempts.filter(({ status }) => status !== "failed").length,
      told: attempts.some((order) => flagged.has(order.id)),
    };
  };
  const all = own.map(counts).filter(({ live }) => live > 0);
  for (const { day } of all) {
    const same = all.filter((one) => samePeriod(frequency, one.day, day));
    const live = same.reduce((sum, one) => sum + one.live, 0);
    if (live > Number(max_no_debit) && !same.some(({ told }) => told))
      throw new Error(
        `Mandate ${reference} has ${live} debits around ${day.toString()}, and nobody was told`,
      );
  }
  const keys = own.flatMap(({ period_key }) => period_key ?? []);
  if (new Set(keys).size !== keys.length)
    throw new Error(`Mandate ${reference} was collected twice for a period`);
}

/** After the jobs of a day nothing that is due is left. */
function checkDue({ clock }: SimCompany, mandate: Mandate, payments: readonly Payment[]): void {
  if (mandate.status !== "active") return;
  const now = clock.now().toString({ smallestUnit: "millisecond" });
  if (mandate.next_collection_at !== null && mandate.next_collection_at <= now)
    throw new Error(`Mandate ${mandate.reference} is due since ${mandate.next_collection_at}`);
  const late = payments.find(
    ({ mandate_id, next_attempt_at }) =>
      mandate_id === mandate.id && next_attempt_at !== null && next_attempt_at <= now,
  );
  if (late) throw new Error(`Payment ${late.id} is ${late.status}, and due since ${late.next_attempt_at}`);
}
