import { runNamedJob } from "../../support/jobs.ts";
import { expect, test } from "bun:test";
import { makeCommandFolder, runHere } from "../../support/process.ts";
import { FLAT, PER_UNIT, useBilling } from "../fixtures.ts";

const billing = useBilling();

const runBillingJob = (name = "billing_run") => runNamedJob(billing.service, name);

test("the job bills every company, makes missed months good and runs twice without harm", async () => {
  billing.clock.set("2024-04-01T01:00:00Z");
  const utc = await billing.addCompany();
  const ahead = await billing.addCompany({ timezone: "Asia/Kuala_Lumpur" });
  const started = { started_at: "2024-01-01T00:00:00Z" };
  const [one, two] = [await utc.subscribe(FLAT, started), await ahead.subscribe(FLAT, started)];

  billing.clock.set("2024-02-29T16:59:59Z");
  expect(await runBillingJob()).toBe(true);
  expect([(await utc.records(one)).length, (await ahead.records(two)).length]).toEqual([1, 1]);
  billing.clock.set("2024-02-29T17:00:00Z");
  await runBillingJob();
  await runBillingJob();
  expect([(await utc.records(one)).length, (await ahead.records(two)).length]).toEqual([1, 2]);
  billing.clock.set("2024-07-01T12:00:00Z");
  await runBillingJob();
  expect([(await utc.records(one)).length, (await ahead.records(two)).length]).toEqual([6, 6]);
});

test("a run of the job is recorded like any other, unless it had nothing to do", async () => {
  billing.clock.set("2024-04-01T01:00:00Z");
  const company = await billing.addCompany();
  await company.subscribe(FLAT, { started_at: "2024-03-01T00:00:00Z" });
  for (let hour = 0; hour < 3; hour++) await runBillingJob();
  const { body } = await company.api("GET", "/billing-runs");
  expect(body.data).toMatchObject([
    { status: "finished", requested_by: null, dry_run: false, period: null, counts: { periods: 1 } },
  ]);
});

test("the daily job adjusts what late usage changed in the last 90 days, and nothing else", async () => {
  billing.clock.set("2024-05-01T01:00:00Z");
  const company = await billing.addCompany({ timezone: "Asia/Kathmandu" });
  const id = await company.subscribe(PER_UNIT, {
    started_at: "2024-03-20T00:00:00Z",
    billing_anchor_day: 31,
  });
  await runBillingJob();
  billing.clock.set("2024-08-01T01:00:00Z");
  await runBillingJob();
  const before = await company.records(id);
  expect(before.length).toBe(5);

  // The periods end on 31 March, 30 April, 31 May, 30 June and 31 July; 90 days back is 3 May. The first two were
  // billed on 1 May.
  await company.use(id, ["2024-03-25T00:00:00Z", "7"], ["2024-04-29T00:00:00Z", "5"]);
  await company.use(id, ["2024-05-01T00:00:00Z", "3"], ["2024-07-31T00:00:00Z", "1"]);
  billing.clock.set("2024-08-01T02:30:10Z");
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

test("late usage is billed once, by the daily job or by a run, and the job counts nothing else", async () => {
  billing.clock.set("2024-04-01T01:00:00Z");
  const company = await billing.addCompany();
  const started = { started_at: "2024-03-01T00:00:00Z" };
  const ids: number[] = [];
  for (let i = 0; i < 4; i++) ids.push(await company.subscribe(PER_UNIT, started));
  const [one = 0, two = 0, three = 0, four = 0] = ids;
  await runBillingJob();
  const adjusted = async () =>
    Promise.all(ids.map(async (id) => (await company.records(id)).slice(1).map((r) => r.totalCharges)));
  const { usage } = billing.service.deps;
  const count = usage.totals.bind(usage);
  let counted: number[] = [];
  // Stands before, not in place of, the store.
  usage.totals = (company_id, windows, options) => {
    if (company_id === company.company_id) counted.push(...windows.map((window) => window.subscription_id));
    return count(company_id, windows, options);
  };
  const recheck = async () => {
    counted = [];
    await runBillingJob("billing_recheck");
    return counted;
  };
  try {
    expect(await recheck()).toEqual([]);
    billing.clock.set("2024-04-01T00:30:00Z");
    // Its request began before the bill was written, and its events were stored after.
    await company.use(one, ["2024-03-05T00:00:00Z", "2"]);
    billing.clock.set("2024-04-03T00:00:00Z");
    await company.use(two, ["2024-03-31T23:59:59.999Z", "4"], ["2024-04-01T00:00:00Z", "8"]);
    await company.use(four, ["2024-04-01T00:00:00Z", "16"]);
    billing.clock.set("2024-04-04T02:30:10Z");
    expect(await recheck()).toEqual([one, two]);
    expect(await adjusted()).toEqual([["1.00"], ["2.00"], [], []]);
    expect(await recheck()).toEqual([]);
    expect((await company.run({ period: "2024-03" })).counts).toMatchObject({ unchanged: 4, adjustments: 0 });

    await company.use(three, ["2024-03-05T00:00:00Z", "6"]);
    expect((await company.run({ period: "2024-03" })).counts).toMatchObject({ unchanged: 3, adjustments: 1 });
    expect(await recheck()).toEqual([]);
    expect(await adjusted()).toEqual([["1.00"], ["2.00"], ["3.00"], []]);
    await company.use(one, ["2024-03-06T00:00:00Z", "1"]);
    billing.clock.set("2024-04-05T02:30:10Z");
    expect(await recheck()).toEqual([one]);
    expect(await adjusted()).toEqual([["1.00", "0.50"], ["2.00"], ["3.00"], []]);
  } finally {
    usage.totals = count;
  }
});

test("one instance runs the job at a time", async () => {
  const lock = await billing.service.deps.store.lock("job billing_run");
  expect(lock).not.toBeNull();
  expect(await runBillingJob()).toBe(false);
  await lock?.release();
  expect(await runBillingJob()).toBe(true);
});

test("the command line runs the job", async () => {
  const place = await makeCommandFolder();
  try {
    const added = await runHere(
      ["company", "add", "--name", "A", "--admin-email", "a@example.com"],
      place.env,
    );
    expect(added).toMatchObject({ code: 0, err: "" });
    const ran = await runHere(["job", "billing_run"], place.env);
    expect(ran).toMatchObject({ code: 0, err: "", out: "Ran billing_run\n" });
    const unknown = await runHere(["job", "billing_walk"], place.env);
    expect(unknown.code).toBe(2);
    expect(unknown.err).toContain("known are billing_run, billing_recheck");
  } finally {
    place.remove();
  }
});
