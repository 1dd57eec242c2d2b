import { beforeAll, describe, expect, test } from "bun:test";
import { LIMITS } from "../../../src/billing/limits.ts";
import type { Json } from "../../support/harness.ts";
import { type Company, FLAT, PER_UNIT, useBilling } from "../fixtures.ts";

const billing = useBilling();
let company: Company;

beforeAll(async () => {
  company = await billing.addCompany();
});

const APRIL = "2024-04-01T01:00:00Z";
const MARCH = { started_at: "2024-03-01T00:00:00Z" };

describe("POST /billing-runs", () => {
  test("bills and tells what it did, with and without a body", async () => {
    billing.clock.set(APRIL);
    const fresh = await billing.addCompany();
    const id = await fresh.subscribe({ ...PER_UNIT, recurring_fee: "2" }, MARCH);
    await fresh.use(id, ["2024-03-09T00:00:00Z", "3"]);
    const { status, body } = await fresh.api("POST", "/billing-runs");
    expect(status).toBe(200);
    const run = body.data;
    const [record] = run.records;
    const line = {
      billing_model_id: record.billing_model_id,
      from: "2024-03-01T00:00:00.000Z",
      to: "2024-04-01T00:00:00.000Z",
    };
    expect(run).toEqual({
      id: run.id,
      company_id: fresh.company_id,
      status: "finished",
      dry_run: false,
      period: null,
      requested_by: run.requested_by,
      counts: {
        subscriptions: 1,
        periods: 1,
        adjustments: 0,
        unchanged: 0,
        not_due: 1,
        failed: 0,
        late_unbilled: 0,
      },
      totals: [{ currency: "EUR", records: 1, totalCharges: record.totalCharges }],
      errors: [],
      records: [
        {
          id: record.id,
          subscription_id: id,
          billing_model_id: record.billing_model_id,
          company_id: fresh.company_id,
          kind: "period",
          sequence: 0,
          adjusts_billing_record_id: null,
          billing_run_id: run.id,
          currency: "EUR",
          billedUnits: 3,
          totalCharges: "3.50",
          billingStartAt: "2024-03-01T00:00:00.000Z",
          billingEndAt: "2024-04-01T00:00:00.000Z",
          usage_until: "2024-04-01T01:00:00.001Z",
          lines: [
            {
              ...line,
              kind: "fee",
              description: "Plan: monthly fee",
              quantity: "1",
              unit_price: "2",
              amount: "2.00",
              event_count: null,
              usage_digest: null,
              proration: { numerator: 31, denominator: 31 },
            },
            {
              ...line,
              kind: "usage",
              description: "Plan: usage",
              quantity: "3",
              unit_price: "0.5",
              amount: "1.50",
              event_count: 1,
              usage_digest: record.lines[1].usage_digest,
              proration: null,
            },
          ],
          created_at: "2024-04-01T01:00:00.000Z",
          updated_at: "2024-04-01T01:00:00.000Z",
        },
      ],
      created_at: "2024-04-01T01:00:00.000Z",
      updated_at: run.updated_at,
      finished_at: run.updated_at,
    });
    expect(run.requested_by).toBeNumber();
    expect(record.lines[1].usage_digest).toMatch(/^[0-9a-f]{32}$/);

    const { records: _, ...told } = run;
    expect((await fresh.api("GET", `/billing-runs/${run.id}`)).body).toEqual({ data: told });
    expect((await fresh.run({})).records).toEqual([]);
  });

  test("a dry run tells the records and writes none", async () => {
    billing.clock.set("2024-05-01T01:00:00Z");
    const fresh = await billing.addCompany();
    const id = await fresh.subscribe(PER_UNIT, MARCH);
    await fresh.run({ period: "2024-03" });
    await fresh.use(id, ["2024-03-09T00:00:00Z", "3"], ["2024-04-09T00:00:00Z", "4"]);
    const [written] = await fresh.records(id);
    for (const period of ["2024-03", "2024-04"]) {
      const run = await fresh.run({ period, dry_run: true });
      expect(run).toMatchObject({ dry_run: true, period, counts: { subscriptions: 1 } });
      expect(run.records).toHaveLength(1);
      expect(run.records[0]).not.toHaveProperty("id");
      expect(run.records[0]).toMatchObject(
        period === "2024-03"
          ? { kind: "adjustment", adjusts_billing_record_id: written.id, totalCharges: "1.50" }
          : { kind: "period", adjusts_billing_record_id: null, totalCharges: "2.00" },
      );
    }
    expect(await fresh.records(id)).toEqual([written]);
    expect((await fresh.run()).records).toMatchObject([{ kind: "period", totalCharges: "2.00" }]);
  });

  test("answers 202 when it takes long, and goes on", async () => {
    billing.clock.set(APRIL);
    const fresh = await billing.addCompany();
    const id = await fresh.subscribe(FLAT, MARCH);
    const { billing_run_wait_ms } = LIMITS;
    Object.assign(LIMITS, { billing_run_wait_ms: 0 });
    try {
      const { status, body } = await fresh.api("POST", "/billing-runs", {});
      expect(status).toBe(202);
      expect(body.data).toMatchObject({ status: "running", finished_at: null });
      let run: Json = body.data;
      while (run.status === "running") run = (await fresh.api("GET", `/billing-runs/${run.id}`)).body.data;
      expect(run).toMatchObject({ id: body.data.id, status: "finished", counts: { periods: 1 } });
    } finally {
      Object.assign(LIMITS, { billing_run_wait_ms });
    }
    expect(await fresh.records(id)).toHaveLength(1);
  });

  test.each<[Json, string]>([
    [{ period: "2026-13" }, "/period"],
    [{ period: "2026-00" }, "/period"],
    [{ period: "26-1" }, "/period"],
    [{ period: "2026-1" }, "/period"],
    [{ period: "2026-01-01" }, "/period"],
    [{ period: "" }, "/period"],
    [{ period: 202601 }, "/period"],
    [{ period: null }, "/period"],
    [{ subscription_ids: [] }, "/subscription_ids"],
    [{ subscription_ids: Array(1001).fill(1) }, "/subscription_ids"],
    [{ subscription_ids: 1 }, "/subscription_ids"],
    [{ subscription_ids: ["1"] }, "/subscription_ids/0"],
    [{ subscription_ids: [0] }, "/subscription_ids/0"],
    [{ subscription_ids: [1.5] }, "/subscription_ids/0"],
    [{ subscription_ids: [9007199254740992] }, "/subscription_ids/0"],
    [{ subscription_ids: [9007199254740991] }, "/subscription_ids/0"],
    [{ dry_run: "yes" }, "/dry_run"],
    [{ month: "2026-01" }, "/month"],
    [[], ""],
    [null, ""],
  ])("answers 422 naming the field: %j", async (body, path) => {
    const answer = await company.api("POST", "/billing-runs", body);
    expect(answer).toMatchObject({ status: 422, body: { details: [{ path }] } });
    expect(answer.body.error).toBeString();
  });

  test("answers 400 to a body that is not JSON", async () => {
    expect((await company.api("POST", "/billing-runs", "{")).status).toBe(400);
  });

  test("refuses another company's subscription by its place, and bills none", async () => {
    billing.clock.set(APRIL);
    const other = await billing.addCompany();
    const own = await company.subscribe(FLAT, MARCH);
    const foreign = await other.subscribe(FLAT, MARCH);
    const answer = await company.api("POST", "/billing-runs", { subscription_ids: [own, own, foreign] });
    expect(answer).toMatchObject({ status: 422, body: { details: [{ path: "/subscription_ids/2" }] } });
    expect(await company.records(own)).toEqual([]);
    expect((await company.run({ subscription_ids: [own, own] })).counts.periods).toBe(1);
    expect(await other.records(foreign)).toEqual([]);
  });

  test("is for those who may write bills", async () => {
    const analyst = await company.addUser("analyst");
    const client = await company.addUser("client", company.client_id);
    for (const api of [analyst, client]) {
      expect((await api("POST", "/billing-runs", {})).status).toBe(403);
    }
    expect((await billing.service.anonymous("POST", "/billing-runs", {})).status).toBe(401);
  });
});

describe("GET /billing-runs", () => {
  test("lists the company's runs, newest first, in pages", async () => {
    const fresh = await billing.addCompany();
    const ids: number[] = [];
    for (const dry_run of [true, false, true]) ids.unshift((await fresh.run({ dry_run })).id);
    const { body } = await fresh.api("GET", "/billing-runs");
    expect(body.data.map((run: Json) => run.id)).toEqual(ids);
    expect(body.data[0]).not.toHaveProperty("errors");
    expect(body.meta).toEqual({ page: 1, limit: 20, total: 3, total_pages: 1 });
    const page = await fresh.api("GET", "/billing-runs?page=2&limit=2");
    expect(page.body.data.map((run: Json) => run.id)).toEqual(ids.slice(2));
    expect((await fresh.api("GET", "/billing-runs?status=running")).status).toBe(422);

    const analyst = await fresh.addUser("analyst");
    const client = await fresh.addUser("client", fresh.client_id);
    expect((await analyst("GET", `/billing-runs/${ids[0]}`)).status).toBe(200);
    expect((await client("GET", `/billing-runs/${ids[0]}`)).status).toBe(403);
    expect((await company.api("GET", `/billing-runs/${ids[0]}`)).status).toBe(404);
  });

  test.each(["abc", "0", "1e3", "9007199254740992"])("refuses the id %s", async (id) => {
    const answer = await company.api("GET", `/billing-runs/${id}`);
    expect(answer).toMatchObject({ status: 422, body: { details: [{ path: "/id" }] } });
  });
});
