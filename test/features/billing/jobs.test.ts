import { afterAll, beforeAll, expect, test } from "bun:test";
import { JOBS, runJob } from "../../../src/jobs.ts";
import { releaseLease, takeLease } from "../../../src/store/lease.ts";
import { makePlace, run } from "../../cli/process.ts";
import { type Books, FLAT, openBooks, PER_UNIT } from "./books.ts";

let books: Books;

beforeAll(async () => {
  books = await openBooks();
});
afterAll(() => books.house.stop());

async function runBillingJob(wanted = "billing_run"): Promise<boolean> {
  const job = JOBS.find(({ name }) => name === wanted);
  if (!job) throw new Error(`There is no job ${wanted}`);
  return runJob(books.house.deps, job);
}

test("the job bills every company, makes missed months good and runs twice without harm", async () => {
  books.clock.set("2024-04-01T01:00:00Z");
  const utc = await books.addCompany();
  const ahead = await books.addCompany({ timezone: "Asia/Kuala_Lumpur" });
  const started = { started_at: "2024-01-01T00:00:00Z" };
  const [one, two] = [await utc.subscribe(FLAT, started), await ahead.subscribe(FLAT, started)];

  books.clock.set("2024-02-29T16:59:59Z");
  expect(await runBillingJob()).toBe(true);
  expect([(await utc.records(one)).length, (await ahead.records(two)).length]).toEqual([1, 1]);
  books.clock.set("2024-02-29T17:00:00Z");
  await runBillingJob();
  await runBillingJob();
  expect([(await utc.records(one)).length, (await ahead.records(two)).length]).toEqual([1, 2]);
  books.clock.set("2024-07-01T12:00:00Z");
  await runBillingJob();
  expect([(await utc.records(one)).length, (await ahead.records(two)).length]).toEqual([6, 6]);
});

test("a run of the job is told like any other, unless it had nothing to do", async () => {
  books.clock.set("2024-04-01T01:00:00Z");
  const company = await books.addCompany();
  await company.subscribe(FLAT, { started_at: "2024-03-01T00:00:00Z" });
  for (let hour = 0; hour < 3; hour++) await runBillingJob();
  const { body } = await company.api("GET", "/billing-runs");
  expect(body.data).toMatchObject([
    { status: "finished", requested_by: null, dry_run: false, period: null, counts: { periods: 1 } },
  ]);
});

test("the daily job adjusts what late usage changed in the last 90 days, and nothing else", async () => {
  books.clock.set("2024-08-01T01:00:00Z");
  const company = await books.addCompany({ timezone: "Asia/Kathmandu" });
  const id = await company.subscribe(PER_UNIT, {
    started_at: "2024-03-20T00:00:00Z",
    billing_anchor_day: 31,
  });
  await runBillingJob();
  const before = await company.records(id);
  expect(before.length).toBe(5);

  // The periods end on 31 March, 30 April, 31 May, 30 June and 31 July; 90 days back is 3 May.
  await company.use(id, ["2024-03-25T00:00:00Z", "7"], ["2024-04-29T00:00:00Z", "5"]);
  await company.use(id, ["2024-05-01T00:00:00Z", "3"], ["2024-07-31T00:00:00Z", "1"]);
  books.clock.set("2024-08-01T02:30:10Z");
  expect(await runBillingJob("billing_run")).toBe(true);
  expect(await company.records(id)).toEqual(before);
  expect(await runBillingJob("billing_recheck")).toBe(true);
  await runBillingJob("billing_recheck");
  const written = (await company.records(id)).slice(before.length);
  expect(written).toMatchObject([
    {
      kind: "adjustment",
      sequence: 1,
      billedUnits: 3,
      totalCharges: "1.50",
      adjusts_billing_record_id: before[2].id,
    },
  ]);
});

test("one instance runs the job at a time", async () => {
  const { store, clock } = books.house.deps;
  const lease = Temporal.Duration.from({ minutes: 1 });
  expect(await takeLease(store, "billing_run", "another instance", clock.now(), lease)).toBe(true);
  expect(await runBillingJob()).toBe(false);
  await releaseLease(store, "billing_run", "another instance");
  expect(await runBillingJob()).toBe(true);
});

test("the command line runs the job", async () => {
  const place = await makePlace();
  try {
    const added = await run(["company", "add", "--name", "A", "--admin-email", "a@example.com"], place.env);
    expect(added).toMatchObject({ code: 0, err: "" });
    const ran = await run(["job", "billing_run"], place.env);
    expect(ran).toMatchObject({ code: 0, err: "", out: "Ran billing_run\n" });
    const unknown = await run(["job", "billing_walk"], place.env);
    expect(unknown.code).toBe(1);
    expect(unknown.err).toContain("known are billing_run, billing_recheck");
  } finally {
    place.remove();
  }
});
