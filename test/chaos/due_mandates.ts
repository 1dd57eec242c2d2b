import { inArray } from "drizzle-orm";
import { dueAt } from "../../src/emandate/payments/rules.ts";
import { mandatePaymentTable } from "../../src/emandate/payments/tables.ts";
import { dayAt } from "../../src/emandate/working_days.ts";
import type { Reads } from "../../src/store/store.ts";
import { insertMandates } from "../emandate/payments/fixtures.ts";
import type { Api } from "../support/harness.ts";
import { until } from "../support/webhook_receiver.ts";
import { expectEqual } from "./expect_equal.ts";
import type { World } from "./world.ts";

/** Adds mandates that are due today; returns their ids. */
export function addDueMandates(world: World, count: number, customer_name: string): Promise<number[]> {
  const now = Temporal.Now.instant();
  const today = dayAt(now);
  const terms = { anchor_date: today.toString(), next_collection_at: dueAt(today) };
  const mandates = Array.from({ length: count }, (_, i) => ({
    ...terms,
    bankscheme_txn_amount: `${1 + (i % 90)}.00`,
  }));
  return world.deps.store.tx((q) => insertMandates(q, 1, now, mandates, customer_name));
}

/** Runs collections until each of the mandates has its payment sent; returns the payments. */
export async function collectAll(api: Api, read: Reads, ids: readonly number[]) {
  const payments = read.use(mandatePaymentTable);
  const made = () =>
    read
      .select()
      .from(payments)
      .where(inArray(payments.mandate_id, [...ids]));
  await until(
    async () => {
      // Each says that one is running until the one before, killed, is known to be over.
      await api("POST", "/emandate/collections/run", {});
      const rows = await made();
      return rows.length === ids.length && rows.every(({ status }) => status !== "scheduled");
    },
    "the rest of the collection",
    30_000,
  );
  const rows = await made();
  expectEqual(new Set(rows.map(({ mandate_id }) => mandate_id)).size, ids.length, "mandates collected");
  return rows;
}
