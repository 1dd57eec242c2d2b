import { expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { NO_COUNTS } from "../../../src/billing/runs/progress.ts";
import { type AskedRun, insertRun, updateRun } from "../../../src/billing/runs/queries.ts";
import { billingRunTable } from "../../../src/billing/runs/tables.ts";
import { userTable } from "../../../src/access/users/tables.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { type Company, FLAT, useBilling } from "../fixtures.ts";

// Among several instances, what one began that died goes on in a run of another.

const billing = useBilling();
const takeOver = () => runNamedJob(billing.service, "billing_run_takeovers");
const EVERYTHING: AskedRun = {
  dry_run: false,
  period: null,
  subscription_ids: null,
  closed_since: null,
  requested_by: null,
};

/** A run of an instance that gave its last sign of life now. */
const leaveRun = (company: Company, asked: Partial<AskedRun> = {}) => {
  const { store } = billing.service.deps;
  const tx = { scope: { company_id: company.company_id }, now: billing.clock.now() };
  return store.tx((q) => insertRun({ q, ...tx }, { ...EVERYTHING, ...asked, counts: NO_COUNTS }));
};
const runsOf = async (company: Company) => (await company.api("GET", "/billing-runs")).body.data;

test("a run without a sign of life for a minute is ended, and its work done once", async () => {
  billing.clock.set("2024-04-01T01:00:00Z");
  const company = await billing.addCompany();
  const id = await company.subscribe(FLAT, { started_at: "2024-03-01T00:00:00Z" });
  await leaveRun(company);
  billing.clock.set("2024-04-01T01:01:00Z");
  await takeOver();
  expect(await runsOf(company)).toMatchObject([{ status: "running" }]);
  billing.clock.set("2024-04-01T01:01:00.001Z");
  await takeOver();
  await takeOver();
  expect(await runsOf(company)).toMatchObject([
    { status: "finished", requested_by: null, counts: { periods: 1 } },
    { status: "interrupted", finished_at: "2024-04-01T01:01:00.001Z" },
  ]);
  expect(await company.records(id)).toHaveLength(1);
});

test("what a person asked for goes on as asked, under the same name; dry runs do not", async () => {
  billing.clock.set("2024-04-01T01:00:00Z");
  const company = await billing.addCompany();
  const ids: number[] = [];
  for (let i = 0; i < 3; i++) ids.push(await company.subscribe(FLAT, { started_at: "2024-02-01T00:00:00Z" }));
  const { read } = billing.service.deps.store;
  const users = read.use(userTable);
  const [user] = await read
    .select({ id: users.id })
    .from(users)
    .where(eq(users.company_id, company.company_id));
  const requested_by = user?.id ?? 0;
  await leaveRun(company, { dry_run: true });
  await leaveRun(company, { period: "2024-02", subscription_ids: ids.slice(0, 2), requested_by });
  billing.clock.set("2024-04-01T01:02:00Z");
  await takeOver();
  const [next, ...before] = await runsOf(company);
  expect(next).toMatchObject({
    status: "finished",
    dry_run: false,
    period: "2024-02",
    requested_by,
    counts: { subscriptions: 2, periods: 2 },
  });
  expect(before.map(({ status }: { status: string }) => status)).toEqual(["interrupted", "interrupted"]);
  const starts = await Promise.all(ids.map(async (id) => (await company.records(id)).length));
  expect(starts).toEqual([1, 1, 0]);
});

test("a recheck goes on as a recheck", async () => {
  billing.clock.set("2024-04-01T01:00:00Z");
  const company = await billing.addCompany();
  const id = await company.subscribe(FLAT, { started_at: "2024-03-01T00:00:00Z" });
  await leaveRun(company, { closed_since: "2024-01-01T00:00:00.000Z" });
  billing.clock.set("2024-04-01T01:02:00Z");
  await takeOver();
  // It bills no period that has no record yet.
  expect(await company.records(id)).toHaveLength(0);
  expect(await runsOf(company)).toMatchObject([{ status: "interrupted" }]);
});

test("a run that was taken over finds its row ended, and what it was asked for is not shown", async () => {
  const company = await billing.addCompany();
  const run = await leaveRun(company, { subscription_ids: [] });
  expect(Object.keys(run)).not.toContain("subscription_ids");
  const { store } = billing.service.deps;
  const t = store.read.use(billingRunTable);
  await store.tx((q) => q.update(t).set({ status: "interrupted" }).where(eq(t.id, run.id)));
  expect(await store.tx((q) => updateRun(q, { ...run, status: "finished" }))).toBe(false);
  const [row] = await runsOf(company);
  expect(row.status).toBe("interrupted");
});
