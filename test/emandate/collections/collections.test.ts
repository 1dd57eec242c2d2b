import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { insertRun } from "../../../src/emandate/collections/queries.ts";
import { findConfig, saveConfig } from "../../../src/emandate/merchant_config/queries.ts";
import { mandateTable } from "../../../src/emandate/mandates/tables.ts";
import { type Json, type Tenant, TestClock, useService } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { addMandate, answer, at, NO_FUNDS, paymentsOf, recordedEvents } from "../payments/fixtures.ts";

const clock = new TestClock(at("2026-01-31"));

const service = useService({ clock });

async function moveTo(tenant: Tenant, when: string): Promise<void> {
  clock.set(when);
  tenant.api = await service.signIn(tenant.admin_email);
}

async function freshTenant(on: string): Promise<Tenant> {
  clock.set(at(on));
  return service.addTenant();
}

async function run({ api }: Tenant, body: object = {}): Promise<Json> {
  const answered = await api("POST", "/emandate/collections/run", body);
  expect([answered.status, answered.body]).toEqual([202, expect.anything()]);
  return answered.body.data;
}

const rows = (payments: Json[]) => payments.map(({ period_key, status }) => `${period_key} ${status}`);

const runTheJob = () => runNamedJob(service, "collections");

const NO_COUNTS = { due: 0, scheduled: 0, skipped: 0, submitted: 0, refused: 0 };

describe("a run", () => {
  test("collects what is due once, on the anchor day of each month, and tells of it", async () => {
    const tenant = await freshTenant("2026-01-31");
    const mandate = await addMandate(service.deps, tenant, "2026-01-31");
    await addMandate(service.deps, tenant, "2026-02-01");
    const first = await run(tenant);
    expect(first).toEqual({
      id: first.id,
      company_id: tenant.company_id,
      status: "finished",
      connector: "sandbox",
      date: "2026-01-31",
      requested_by: expect.any(Number),
      counts: { due: 1, scheduled: 1, skipped: 0, submitted: 1, refused: 0 },
      error: null,
      finished_at: expect.any(String),
      created_at: at("2026-01-31"),
      updated_at: expect.any(String),
    });
    expect((await run(tenant)).counts).toEqual(NO_COUNTS);
    for (const [on, due] of [
      ["2026-02-27", 1],
      ["2026-02-28", 1],
      ["2026-03-30", 1],
      ["2026-03-31", 1],
    ] as const) {
      await moveTo(tenant, at(on));
      expect([on, (await run(tenant)).counts.due]).toEqual([on, due]);
    }
    const payments = await paymentsOf(tenant.api, mandate);
    expect(payments.map(({ due_date, amount }) => [due_date, amount])).toEqual([
      ["2026-01-31", "50.00"],
      ["2026-02-28", "50.00"],
      ["2026-03-31", "50.00"],
    ]);
    const [{ id }] = payments;
    expect((await recordedEvents(tenant.api)).slice(0, 2)).toEqual([`scheduled ${id}`, `submitted ${id}`]);
    const { body } = await tenant.api("GET", "/emandate/collections?limit=2");
    expect(body.meta).toEqual({ page: 1, limit: 2, total: 6, total_pages: 3 });
    expect((await tenant.api("GET", `/emandate/collections/${first.id}`)).body.data).toEqual(first);
  });

  test("after downtime collects the running period and writes the missed ones down", async () => {
    const tenant = await freshTenant("2026-01-10");
    const monthly = await addMandate(service.deps, tenant, "2026-01-15");
    const daily = await addMandate(service.deps, tenant, "2026-04-18", { frequency: "Daily" });
    await moveTo(tenant, at("2026-04-20"));
    expect((await run(tenant)).counts).toEqual({
      due: 2,
      scheduled: 2,
      skipped: 5,
      submitted: 2,
      refused: 0,
    });
    expect(rows(await paymentsOf(tenant.api, monthly))).toEqual([
      "2026-01 skipped",
      "2026-02 skipped",
      "2026-03 skipped",
      "2026-04 submitted",
    ]);
    expect(rows(await paymentsOf(tenant.api, daily)).at(-1)).toBe("2026-04-20 submitted");
    expect((await recordedEvents(tenant.api)).filter((told) => told.startsWith("skipped"))).toHaveLength(5);
  });

  test("leaves alone what is not active, has ended or is collected by hand", async () => {
    const tenant = await freshTenant("2026-03-10");
    for (const status of ["suspended", "pending_termination", "terminated", "expired"] as const) {
      await addMandate(service.deps, tenant, "2026-03-01", { status });
    }
    const ended = await addMandate(service.deps, tenant, "2026-03-01", { expiry_date: "2026-02-28" });
    await addMandate(service.deps, tenant, null);
    expect((await run(tenant)).counts).toEqual({ ...NO_COUNTS, due: 1 });
    expect(await paymentsOf(tenant.api, ended)).toEqual([]);
    expect((await run(tenant)).counts).toEqual(NO_COUNTS);
  });

  test("gives up what the mandate does not allow any more, and says so", async () => {
    const tenant = await freshTenant("2026-03-10");
    const used = await addMandate(service.deps, tenant, "2026-03-10");
    expect((await tenant.api("POST", `/emandate/mandates/${used}/payments`, { amount: "1" })).status).toBe(
      201,
    );
    const small = await addMandate(service.deps, tenant, "2026-03-10", { max_amount: "49.99" });
    expect((await run(tenant)).counts).toMatchObject({ due: 2, scheduled: 2, submitted: 0, refused: 2 });
    const [, given_up] = await paymentsOf(tenant.api, used);
    expect(given_up).toMatchObject({
      status: "cancelled",
      response_message: "Not made: the mandate allows 1 in a period, and 2026-03 has 1",
    });
    const [too_much] = await paymentsOf(tenant.api, small);
    expect(too_much.response_message).toBe("Not made: the mandate allows at most 49.99");
  });

  test("keeps a payment of a mandate that rests, and sends it when that goes on, in the same period only", async () => {
    const tenant = await freshTenant("2026-03-10");
    const mandate = await addMandate(service.deps, tenant, "2026-03-10");
    await run(tenant);
    const [{ id }] = await paymentsOf(tenant.api, mandate);
    await answer(service.deps, tenant, `D${id}-1`, NO_FUNDS);
    const setStatus = (status: "active" | "suspended") =>
      service.deps.store.tx(async (q) => {
        const t = q.use(mandateTable);
        await q.update(t).set({ status }).where(eq(t.id, mandate));
      });
    await setStatus("suspended");
    await moveTo(tenant, at("2026-03-12"));
    expect((await run(tenant)).counts).toEqual(NO_COUNTS);
    await moveTo(tenant, at("2026-04-01"));
    await setStatus("active");
    expect((await run(tenant)).counts).toMatchObject({ submitted: 0, refused: 1 });
    const [payment] = await paymentsOf(tenant.api, mandate);
    expect(payment).toMatchObject({ status: "cancelled", attempt_count: 1 });
  });

  test("looks ahead in the sandbox, as of the end of that day in Kuala Lumpur, and back", async () => {
    const tenant = await freshTenant("2026-03-10");
    const mandate = await addMandate(service.deps, tenant, "2026-03-11");
    expect((await run(tenant, { date: "2026-03-10" })).counts.due).toBe(0);
    expect(await run(tenant, { date: "2026-03-11" })).toMatchObject({
      date: "2026-03-11",
      counts: { due: 1 },
    });
    expect((await run(tenant, { date: "2026-06-11" })).counts).toMatchObject({ skipped: 2, submitted: 1 });
    expect((await run(tenant, { date: "2026-01-01" })).counts).toEqual(NO_COUNTS);
    expect(rows(await paymentsOf(tenant.api, mandate))).toEqual([
      "2026-03 submitted",
      "2026-04 skipped",
      "2026-05 skipped",
      "2026-06 submitted",
    ]);
    const far = await tenant.api("POST", "/emandate/collections/run", { date: "2028-03-11" });
    expect([far.status, far.body.details]).toEqual([
      422,
      [{ path: "/date", message: "must not be after 2028-03-10" }],
    ]);
  });

  test("is the company's only one; one that nobody is at any more is dead", async () => {
    const tenant = await freshTenant("2026-03-10");
    const connector = "sandbox" as const;
    const row = { connector, date: "2026-03-10", requested_by: null, counts: NO_COUNTS, error: null };
    const { id } = await service.deps.store.tx((q) => insertRun({ q, scope: tenant, now: clock.now() }, row));
    const lock = await service.deps.store.lock(`collection run of company ${tenant.company_id}`);
    const asked = async () => (await tenant.api("POST", "/emandate/collections/run", {})).status;
    const status = async () => (await tenant.api("GET", `/emandate/collections/${id}`)).body.data.status;
    expect([await asked(), await status()]).toEqual([409, "running"]);
    await lock?.release();
    expect([await asked(), await status()]).toEqual([202, "interrupted"]);
    expect(await asked()).toBe(202);
  });
});

describe("the job", () => {
  test("collects for every company and keeps no run that found nothing", async () => {
    const [one, other] = [await freshTenant("2026-03-10"), await freshTenant("2026-03-10")];
    const mandate = await addMandate(service.deps, one, "2026-03-10");
    await runTheJob();
    await runTheJob();
    expect(rows(await paymentsOf(one.api, mandate))).toEqual(["2026-03 submitted"]);
    const runs = (await one.api("GET", "/emandate/collections")).body.data;
    expect(runs).toMatchObject([{ requested_by: null, status: "finished", counts: { submitted: 1 } }]);
    expect((await other.api("GET", "/emandate/collections")).body.data).toEqual([]);
    const entries = (await one.api("GET", "/audit-log?operation=collect_due")).body.data;
    expect(entries.map(({ target }: Json) => target.id)).toEqual([runs[0].id]);
  });

  test("collects no mandate by itself where the company does not want that, but sends what was asked for", async () => {
    const tenant = await freshTenant("2026-03-10");
    const by_hand = await addMandate(service.deps, tenant, null);
    const due_date = "2026-03-11";
    await tenant.api("POST", `/emandate/mandates/${by_hand}/payments`, { amount: "1", due_date });
    const mandate = await addMandate(service.deps, tenant, "2026-03-11");
    await tenant.api("PUT", "/emandate/config", { auto_collect: false });
    await moveTo(tenant, at("2026-03-11"));
    await runTheJob();
    expect(await paymentsOf(tenant.api, mandate)).toEqual([]);
    expect(rows(await paymentsOf(tenant.api, by_hand))).toEqual(["null submitted"]);
    expect((await run(tenant)).counts.due).toBe(1);
  });
});

describe("FPX without its keys", () => {
  test("nothing is submitted, the run says why, and no day ahead is collected", async () => {
    const tenant = await freshTenant("2026-03-10");
    await service.deps.store.tx(async (q) => {
      const tx = { q, scope: tenant, now: clock.now() };
      await saveConfig(tx, { ...(await findConfig(tx)), connector: "fpx" });
    });
    const mandate = await addMandate(service.deps, tenant, "2026-03-10", { connector: "fpx" });
    const old = await addMandate(service.deps, tenant, "2026-03-10");
    const told = await run(tenant);
    expect(told.error).toStartWith("Cannot work with FPX: not configured");
    expect(told.counts).toMatchObject({ scheduled: 2, submitted: 1 });
    expect(rows(await paymentsOf(tenant.api, mandate))).toEqual(["2026-03 scheduled"]);
    expect(rows(await paymentsOf(tenant.api, old))).toEqual(["2026-03 submitted"]);
    const debit = await tenant.api("POST", `/emandate/mandates/${mandate}/payments`, { amount: "1" });
    expect(debit.status).toBe(409);
    expect(await paymentsOf(tenant.api, mandate)).toHaveLength(1);
    const ahead = await tenant.api("POST", "/emandate/collections/run", { date: "2026-03-11" });
    expect([ahead.status, ahead.body.details?.[0]?.path]).toEqual([422, "/date"]);
  });
});

describe("files", () => {
  const send = ({ api }: Tenant, id: number, csv: string) =>
    api("POST", `/emandate/collections/${id}/results`, csv, { "content-type": "text/csv" });

  test("a run's debits go out as lines, and a bank's results come in, once", async () => {
    const tenant = await freshTenant("2026-03-10");
    const mandates: number[] = [];
    for (let i = 0; i < 4; i++) mandates.push(await addMandate(service.deps, tenant, "2026-03-10"));
    const { id } = await run(tenant);
    const file = await tenant.api("GET", `/emandate/collections/${id}/file`);
    expect(file.headers.get("content-disposition")).toBe(
      `attachment; filename="collection-${id}-2026-03-10.csv"`,
    );
    const [header, ...lines] = (file.body as string).trimEnd().split("\r\n");
    expect(header).toStartWith("order_no,mandate_reference,");
    expect(lines).toHaveLength(4);
    const numbers = lines.map((line) => line.split(",")[0] ?? "");
    expect(lines[0]).toEndWith(",Waiting Customer,,50.00,MYR,2026-03-10,");

    const csv = [
      "order_no,amount,response_code,charged_back,scheme_txn_id",
      `${numbers[0]},50.00,00,,TXN9`,
      `${numbers[1]},50.00,51,,`,
      `${numbers[2]},49.00,00,,`,
      `${numbers[3]},50.00,09,,`,
      "D999999999-1,50.00,00,,",
      `${numbers[3]},50.00,77,,`,
    ].join("\r\n");
    const { status, body } = await send(tenant, id, csv);
    expect([status, body.data]).toEqual([
      200,
      {
        applied: 2,
        flagged: 0,
        unchanged: 1,
        rejected: 3,
        rejections: [
          { line: 4, reason: "amount must be 50.00" },
          { line: 6, reason: "order_no is of no debit of this run" },
          { line: 7, reason: "order_no is already on line 5" },
        ],
      },
    ]);
    const statuses = [];
    for (const mandate of mandates) statuses.push((await paymentsOf(tenant.api, mandate))[0].status);
    expect(statuses).toEqual(["paid", "retry_scheduled", "submitted", "submitted"]);
    expect((await send(tenant, id, csv)).body.data).toMatchObject({ applied: 0, unchanged: 3, rejected: 3 });
  });

  test.each([
    ["no CSV", 'a"b', "text/csv", 422],
    ["other columns", "order,amount\r\n1,2", "text/csv", 422],
    ["JSON", "{}", "application/json", 415],
    ["NUL", "order_no,amount,response_code\r\nD1-1,1.00,0\u0000", "text/csv", 422],
  ])("%s is refused whole", async (_, csv, type, status) => {
    const tenant = await freshTenant("2026-03-10");
    const { id } = await run(tenant);
    const answered = await tenant.api("POST", `/emandate/collections/${id}/results`, csv, {
      "content-type": type,
    });
    expect(answered.status).toBe(status);
  });

  test("a body beyond the bound is refused", async () => {
    const tenant = await freshTenant("2026-03-10");
    const { id } = await run(tenant);
    expect((await send(tenant, id, "x".repeat(5 * 1024 * 1024 + 1))).status).toBe(413);
  });
});
