import { and, eq } from "drizzle-orm";
import { listRunLines } from "../../../src/emandate/collections/file_queries.ts";
import type { MandateFlag } from "../../../src/emandate/flags/model.ts";
import { listFlags } from "../../../src/emandate/flags/queries.ts";
import { mandateOrderTable } from "../../../src/emandate/orders/tables.ts";
import type { PaymentStatus } from "../../../src/emandate/payments/model.ts";
import { mandatePaymentTable } from "../../../src/emandate/payments/tables.ts";
import { mandateTable } from "../../../src/emandate/mandates/tables.ts";
import type { Service } from "../../support/harness.ts";
import { isCollectionDay } from "./oracle.ts";
import type { Frequency } from "../../../src/emandate/schedule.ts";

// What there is on record of a company, and how it is read.

export type MandateRow = Awaited<ReturnType<CompanyRecords["mandates"]>>[number];
export type PaymentRow = Awaited<ReturnType<CompanyRecords["payments"]>>[number];

/** How often a mandate is collected from a day on. */
export interface Epoch {
  readonly frequency: Frequency;
  readonly anchor: Temporal.PlainDate;
}

/** How the order of a payment that counts stands in each of its states. */
export const ORDERS_OF: Record<PaymentStatus, string[]> = {
  scheduled: ["none"],
  submitted: ["submitted", "pending"],
  paid: ["succeeded"],
  failed: ["failed"],
  retry_scheduled: ["failed"],
  charged_back: ["failed"],
  cancelled: ["none", "failed"],
  skipped: ["none", "failed"],
};

/** What is on record of one company. */
export class CompanyRecords {
  readonly service: Service;
  readonly scope: { company_id: number };

  constructor(service: Service, company_id: number) {
    this.service = service;
    this.scope = { company_id };
  }

  async orders() {
    const { read } = this.service.deps.store;
    const t = read.use(mandateOrderTable);
    const debits = and(eq(t.company_id, this.scope.company_id), eq(t.kind, "debit"));
    return read.select().from(t).where(debits).orderBy(t.id);
  }

  async payments() {
    const { read } = this.service.deps.store;
    const t = read.use(mandatePaymentTable);
    return read.select().from(t).where(eq(t.company_id, this.scope.company_id)).orderBy(t.id);
  }

  async mandates() {
    const { read } = this.service.deps.store;
    const t = read.use(mandateTable);
    return read.select().from(t).where(eq(t.company_id, this.scope.company_id)).orderBy(t.id);
  }

  /** The flags that a person would see, by the orders that they are about. */
  async flags(): Promise<Map<string, MandateFlag>> {
    const { rows } = await listFlags(
      { q: this.service.deps.store.read, scope: this.scope, now: Temporal.Now.instant() },
      {},
      { limit: 1_000, offset: 0 },
    );
    return new Map(rows.map((flag) => [flag.order_no, flag]));
  }

  /** A run's file. */
  linesOf(id: number) {
    const page = { after_id: 0, limit: 1_000 };
    return listRunLines(
      { q: this.service.deps.store.read, scope: this.scope, now: Temporal.Now.instant() },
      { id, connector: "fpx" },
      page,
    );
  }
}

export function epochOf({ frequency, anchor_date }: MandateRow): Epoch {
  return { frequency, anchor: Temporal.PlainDate.from(anchor_date ?? "") };
}

/** The days of collection up to one, counted on the wall: of each frequency until the next one counts. */
export function daysOf(
  epochs: readonly Epoch[],
  last: Temporal.PlainDate,
): { frequency: Frequency; day: string }[] {
  return epochs.flatMap(({ frequency, anchor }, i) => {
    const until = epochs[i + 1]?.anchor;
    const days: { frequency: Frequency; day: string }[] = [];
    for (let day = anchor; Temporal.PlainDate.compare(day, last) <= 0; day = day.add({ days: 1 })) {
      if (until && Temporal.PlainDate.compare(day, until) >= 0) break;
      if (isCollectionDay(frequency, anchor, day)) days.push({ frequency, day: day.toString() });
    }
    return days;
  });
}

/** How often its mandate was debited when the payment of an order was made. */
export function frequencyOf(order_no: string, payments: readonly PaymentRow[]): Frequency {
  const id = Number(/^D(\d+)-/.exec(order_no)?.[1]);
  const payment = payments.find((one) => one.id === id);
  if (!payment) throw new Error(`No payment of ${order_no}`);
  return payment.frequency;
}
