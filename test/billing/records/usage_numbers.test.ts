import { expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { billingRecordTable } from "../../../src/billing/records/tables.ts";
import { changeTo } from "../billing_model_changes/fixtures.ts";
import { PER_UNIT, useBilling } from "../fixtures.ts";

const billing = useBilling();

const MARCH = { started_at: "2024-03-01T00:00:00Z" };

test("sums made anew leave a company's last number at least where its bills have counted to", async () => {
  billing.clock.set("2024-03-20T12:00:00Z");
  const [company, neighbour] = [await billing.addCompany(), await billing.addCompany()];
  const dear = await company.addModel({ ...PER_UNIT, price: 2 });
  const id = await company.subscribe(PER_UNIT, MARCH);
  const other = await neighbour.subscribe(PER_UNIT, MARCH);
  // Two companies in one commit, whose last event is the neighbour's.
  await Promise.all([
    company.use(id, ["2024-03-05T00:00:00Z", "10"]),
    neighbour.use(other, ["2024-03-05T00:00:00Z", "1"], ["2024-03-06T00:00:00Z", "1"]),
  ]);
  billing.clock.set("2024-04-02T00:00:00Z");
  await company.run();
  await billing.service.deps.usage.rebuildSums();
  const { status, body } = await changeTo(company.api, id, dear, "2024-03-01T00:00:00Z");
  expect([status, body.data.status]).toEqual([200, "applied"]);
  expect((await company.records(id)).map(({ kind, totalCharges }) => `${kind} ${totalCharges}`)).toEqual([
    "period 5.00",
    "adjustment 15.00",
  ]);
});

test("a run writes nothing where the bills have counted events that the usage store does not have", async () => {
  billing.clock.set("2024-04-02T00:00:00Z");
  const company = await billing.addCompany();
  const id = await company.subscribe(PER_UNIT, MARCH);
  await company.use(id, ["2024-03-05T00:00:00Z", "10"]);
  await company.run();
  const { store } = billing.service.deps;
  const setNumber = (usage_seq: number) =>
    store.tx(async (q) => {
      const t = q.use(billingRecordTable);
      await q.update(t).set({ usage_seq }).where(eq(t.subscription_id, id));
    });
  await setNumber(1_000_000);
  billing.clock.set("2024-05-02T00:00:00Z");
  const run = (await company.api("POST", "/billing-runs", {})).body.data;
  expect(run).toMatchObject({ status: "interrupted", counts: { periods: 0 } });
  expect(run.errors[0].message).toMatch(
    /^Cannot bill: the usage store is older than the bills: its events end at number \d+, and bills have counted up to 1000000/,
  );
  await setNumber(1);
  expect((await company.run()).counts).toMatchObject({ periods: 1 });
});

test("a company is billed whatever the bills of others have counted: their events may be numbered apart", async () => {
  billing.clock.set("2024-04-02T00:00:00Z");
  const [one, other] = [await billing.addCompany(), await billing.addCompany()];
  for (const company of [one, other]) {
    const id = await company.subscribe(PER_UNIT, MARCH);
    await company.use(id, ["2024-03-05T00:00:00Z", "10"]);
  }
  await other.run();
  const { store } = billing.service.deps;
  await store.tx(async (q) => {
    const t = q.use(billingRecordTable);
    await q.update(t).set({ usage_seq: 2_000_000 }).where(eq(t.company_id, other.company_id));
  });
  expect((await one.run()).counts).toMatchObject({ periods: 1 });
  const { body } = await other.api("POST", "/billing-runs", {});
  expect(body.data).toMatchObject({ status: "interrupted" });
});
