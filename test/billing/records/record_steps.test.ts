import { eq } from "drizzle-orm";
import { expect, test } from "bun:test";
import { recordSteps } from "../../../src/billing/records/step_queries.ts";
import { billingRecordTable } from "../../../src/billing/records/tables.ts";
import { FLAT, useBilling } from "../fixtures.ts";

const billing = useBilling();

test("all records are in one step where they are few, else a month of them in each, and none twice", async () => {
  billing.clock.set("2026-01-01T00:00:00Z");
  const company = await billing.addCompany();
  const flat = await company.addModel(FLAT);
  for (let i = 0; i < 3; i++) await company.subscribe(flat, { started_at: "2026-01-01T00:00:00Z" });
  billing.clock.set("2026-05-02T00:00:00Z");
  await company.run();
  const { store } = billing.service.deps;
  const t = store.read.use(billingRecordTable);
  const tx = {
    q: store.read,
    scope: { company_id: company.company_id },
    now: billing.clock.now(),
  };
  const stepsOf = async (few?: number): Promise<number[][]> => {
    const steps: number[][] = [];
    for await (const where of recordSteps(tx, eq(t.company_id, company.company_id), few))
      steps.push((await store.read.select({ id: t.id }).from(t).where(where)).map(({ id }) => id));
    return steps;
  };
  const [all = []] = await stepsOf();
  expect(new Set(all).size).toBe(12);
  expect(await stepsOf(12)).toEqual([all]);
  const months = await stepsOf(11);
  expect(months.map((ids) => ids.length)).toEqual([3, 6, 3]);
  expect(months.flat().toSorted((a, b) => a - b)).toEqual(all.toSorted((a, b) => a - b));
});
