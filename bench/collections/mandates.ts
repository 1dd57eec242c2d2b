import { dayAt } from "../../src/emandate/working_days.ts";
import { iso } from "../../src/core/time.ts";
import { emandateCustomerTable } from "../../src/emandate/customers/tables.ts";
import { dueAt } from "../../src/emandate/payments/rules.ts";
import { mandateTable } from "../../src/emandate/mandates/tables.ts";
import { stamped } from "../../src/store/columns.ts";
import { CONSTRAINTS } from "../../src/server/schema.ts";
import { openStore } from "../../src/store/open.ts";
import type { Queries } from "../../src/store/store.ts";
import type { Cleanup } from "../cleanup.ts";
import { Company } from "../company.ts";
import { FIRST_EMAIL, Service } from "../service.ts";
import type { Progress } from "../bench.ts";

/** Rows that are written in one transaction. */
const BLOCK = 500;
const AMOUNTS = 200;

/** A company with mandates that are due tomorrow, and the service that is to collect them. */
export interface Mandates {
  service: Service;
  company: Company;
  count: number;
  /** Tomorrow in Kuala Lumpur. */
  date: string;
}

/**
 * Makes a company with so many active mandates in a temporary folder, a customer for each, and starts the service.
 * They are due tomorrow, so that nothing is collected before the run starts.
 */
export async function openMandates(cleanup: Cleanup, count: number, progress: Progress): Promise<Mandates> {
  const service = new Service(cleanup, cleanup.folder());
  progress("founding a company");
  await service.start();
  await service.stop();
  progress(`making ${count.toLocaleString("en-US")} mandates`);
  const now = Temporal.Now.instant();
  const due = dayAt(now).add({ days: 1 });
  const store = await openStore({ database_url: null, data_dir: service.data_dir }, CONSTRAINTS);
  try {
    for (let from = 0; from < count; from += BLOCK) {
      const numbers = Array.from({ length: Math.min(BLOCK, count - from) }, (_, i) => from + i + 1);
      await store.tx((q) => insertBatch(q, now, due, numbers));
    }
  } finally {
    await store.close();
  }
  await service.start();
  const company = new Company(service, 1, FIRST_EMAIL);
  await company.signIn();
  return { service, company, count, date: due.toString() };
}

async function insertBatch(
  q: Queries,
  now: Temporal.Instant,
  due: Temporal.PlainDate,
  numbers: readonly number[],
): Promise<void> {
  const customers = q.use(emandateCustomerTable);
  const mandates = q.use(mandateTable);
  const common = { company_id: 1, ...stamped(now) };
  await q.insert(customers).values(
    numbers.map((id) => ({
      ...common,
      id,
      // Not driven by a name: nothing but the run is at work.
      name: `Customer ${id}`,
      email: `customer${id}@example.com`,
    })),
  );
  await q.insert(mandates).values(
    numbers.map((id) => ({
      ...common,
      id,
      reference: `EM-${due.toString().replaceAll("-", "")}-${String(id).padStart(6, "0")}`,
      customer_id: id,
      connector: "sandbox" as const,
      application_type: "01" as const,
      status: "active" as const,
      bankscheme_txn_amount: `${10 + (id % AMOUNTS)}.00`,
      max_amount: "300.00",
      max_no_debit: "1",
      frequency: "Monthly" as const,
      anchor_date: due.toString(),
      next_collection_at: dueAt(due),
      activated_at: iso(now),
    })),
  );
}
