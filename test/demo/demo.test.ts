import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { examine } from "../../src/cli/examine.ts";
import { ROLES } from "../../src/core/access.ts";
import { canonicalJson } from "../../src/usage_store/metadata.ts";
import type { Deps } from "../../src/app/deps.ts";
import { copyOfSmallDemo, serveDemo, type ServedDemo } from "../support/demo.ts";
import { type Api, apiOf, type Json, TestClock } from "../support/harness.ts";
import { TESTS_ALL } from "../support/properties.ts";
import { proveEveryBill } from "../support/prove_bills.ts";
import { MADE_AT, makeTestDemo, SMALL } from "../support/small_demo.ts";

// A small demo: the same story with fewer clients and events, at a fixed time.

const LONG_MS = 600_000;

let served: ServedDemo;
let admin: Api;

beforeAll(async () => {
  served = await serveDemo(await copyOfSmallDemo(), new TestClock(MADE_AT.toString()));
  admin = await served.signIn("admin");
}, LONG_MS);
afterAll(() => served.stop());

/** All records of a list. */
async function listAll(api: Api, path: string): Promise<Json[]> {
  const rows: Json[] = [];
  for (let page = 1; ; page++) {
    const separator = path.includes("?") ? "&" : "?";
    const { status, body } = await api("GET", `${path}${separator}limit=100&page=${page}`);
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
    rows.push(...body.data);
    if (body.data.length < 100) return rows;
  }
}

/** The different values that a field of a list has. */
async function valuesOf(api: Api, path: string, field: string): Promise<string[]> {
  return [...new Set((await listAll(api, path)).map((row) => String(row[field])))].toSorted();
}

describe("the company of the demo", () => {
  test("has something in every area", async () => {
    const areas = [
      "/products",
      "/meters",
      "/features",
      "/add-ons",
      "/billing-models",
      "/clients",
      "/subscriptions",
      "/billing-records",
      "/billing-runs",
      "/billing-model-migrations",
      "/simulations",
      "/alerts",
      "/alerts/2/firings",
      "/subscriptions/1/add-ons",
      "/forms",
      "/views",
      "/users",
      "/api-keys",
      "/audit-log",
      "/events",
      "/webhooks",
      "/webhook-logs",
      "/emandate/products",
      "/emandate/customers",
      "/emandate/mandates",
      "/emandate/payments",
      "/emandate/collections",
      "/emandate/flags",
      "/lending/production/programs",
      "/lending/production/applications",
      "/lending/production/consent-definitions",
      "/lending/staging/applications",
    ];
    const empty: string[] = [];
    for (const path of areas) if ((await listAll(admin, path)).length === 0) empty.push(path);
    expect(empty).toEqual([]);
    expect(await listAll(admin, "/clients")).toHaveLength(SMALL.clients);
  });

  test("has every role, billing type and state", async () => {
    expect(await valuesOf(admin, "/users", "role")).toEqual([...ROLES].toSorted());
    const used = new Set((await listAll(admin, "/subscriptions")).map((one) => one.billing_model_id));
    const models = (await listAll(admin, "/billing-models")).filter(({ id }) => used.has(id));
    expect([...new Set(models.map(({ billing_type }) => String(billing_type)))].toSorted()).toEqual([
      "credit",
      "flat",
      "graduated",
      "package",
      "per_unit",
      "volume",
    ]);
    expect(await valuesOf(admin, "/subscriptions", "status")).toEqual(["active", "cancelled"]);
    expect(await valuesOf(admin, "/billing-records", "kind")).toEqual([
      "adjustment",
      "advance",
      "interim",
      "period",
    ]);
    expect(await valuesOf(admin, "/webhook-logs", "status")).toEqual(["failed", "pending", "succeeded"]);
    expect(await valuesOf(admin, "/emandate/mandates", "status")).toEqual([
      "active",
      "cancelled",
      "expired",
      "failed",
      "pending",
      "pending_approval",
      "pending_authorization",
      "rejected",
      "suspended",
      "terminated",
    ]);
    expect(await valuesOf(admin, "/emandate/payments", "status")).toEqual([
      "cancelled",
      "charged_back",
      "failed",
      "paid",
      "retry_scheduled",
      "scheduled",
      "skipped",
      "submitted",
    ]);
    // Drafts are their agents' own.
    expect(await valuesOf(admin, "/lending/production/applications", "status")).toEqual([
      "accepted",
      "action_required",
      "approved",
      "declined",
      "disbursed",
      "expired",
      "rejected",
      "submitted",
      "under_review",
      "withdrawn",
    ]);
  });

  test("changed plans: applied and to come, upgraded, voided and cancelled", async () => {
    const changes: Json[] = [];
    for (const { id } of await listAll(admin, "/subscriptions"))
      changes.push(...(await admin("GET", `/subscriptions/${id}/billing-model-changes`)).body.data);
    const seen = new Set(
      changes.map(({ kind, status, voided_at }) => `${kind} ${voided_at ? "voided" : status}`),
    );
    expect([...seen].toSorted()).toEqual(
      expect.arrayContaining(["change applied", "change scheduled", "change voided", "upgrade applied"]),
    );
    const { body } = await admin("GET", "/billing-model-migrations/1");
    expect(body.data).toMatchObject({ status: "finished", counts: { failed: 0 } });
  });

  test("has usage that grows, and bills of each month", async () => {
    const { body } = await admin("POST", "/usage/search", { aggregate: true, group_by: "month" });
    const months: Json[] = body.data.toSorted((a: Json, b: Json) => (a.group_key < b.group_key ? -1 : 1));
    expect(months.map(({ group_key }) => group_key)).toHaveLength(13);
    const counts = months.map(({ event_count }) => event_count);
    expect(counts.at(-2)).toBeGreaterThan(4 * counts[0]);
    const first_days = { start_time: "2025-09-01", end_time: "2025-09-10", aggregate: true };
    expect((await admin("POST", "/usage/search", first_days)).body.data[0].event_count).toBeGreaterThan(20);
    const total = counts.reduce((sum, count) => sum + count, 0);
    expect(Math.abs(total - SMALL.events)).toBeLessThan(SMALL.events / 20);
    const revenue = await admin("GET", "/revenue?from=2025-09-01&to=2026-09-01&interval=month");
    for (const { amounts } of revenue.body.data.totals)
      for (const amount of amounts) expect(Number(amount)).toBeGreaterThan(0);
  });

  test("sends metadata as ingest would keep it", async () => {
    const { rows } = await served.deps.usage.search(
      { company_id: 1, sort_by: "timestamp", sort_order: "desc", limit: 200, offset: 0 },
      60_000,
    );
    const { data: stored } = (await admin("GET", "/usage/metadata-keys")).body;
    expect(stored.map(({ key }: Json) => key)).toContain("input_tokens");
    for (const { metadata } of rows)
      expect(String(canonicalJson(metadata ?? {}))).toBe(JSON.stringify(metadata));
  });

  test("proves every bill from its events, and doctor finds nothing", async () => {
    const { bills, unproved } = await proveEveryBill(served.deps);
    expect([bills > 300, unproved]).toEqual([true, []]);
    const use = <T>(work: (deps: Deps) => Promise<T>) => work(served.deps);
    const findings = await examine(
      served.deps.config,
      { useRecords: use, useAll: use },
      { rebuild_sums: false, read_documents: true },
    );
    expect(findings.filter(({ ok }) => !ok)).toEqual([]);
  });

  test("lets one sign in as each role, and no job has failed", async () => {
    expect(served.demo.accounts.map(({ role }) => role)).toEqual([...ROLES]);
    for (const { role, email } of served.demo.accounts) {
      const { body } = await (await served.signIn(role))("GET", "/me");
      expect(body.data).toMatchObject({ role, email, company: { name: "Kenyalang AI" } });
    }
    expect((await admin("GET", "/attention")).body.data.items.map(({ kind }: Json) => kind)).not.toContain(
      "billing_failed",
    );
  });
});

describe("its document", () => {
  test("alone names accounts", async () => {
    const html = await (await fetch(`${served.url}/console`)).text();
    const content = /<meta name="demo" content="([^"]*)">/.exec(html)?.[1] ?? "";
    const accounts = JSON.parse(content.replaceAll("&quot;", '"'));
    expect(accounts).toEqual(served.demo.accounts);
    const { status } = await apiOf(served.url, {})("POST", "/login", {
      email: accounts[0].email,
      password: accounts[0].password,
    });
    expect(status).toBe(200);
  });
});

test.skipIf(!TESTS_ALL)(
  "the same time makes the same demo",
  async () => {
    const { folder } = await makeTestDemo();
    const again = await serveDemo(folder, new TestClock(MADE_AT.toString()));
    try {
      const api = await again.signIn("admin");
      const facts = async (of: Api) => ({
        bills: (await listAll(of, "/billing-records")).map(
          ({ subscription_id, kind, billingStartAt, billedUnits, totalCharges }) =>
            `${subscription_id} ${kind} ${billingStartAt} ${billedUnits} ${totalCharges}`,
        ),
        payments: (await listAll(of, "/emandate/payments")).map(
          ({ mandate_id, due_date, status, attempt_count }) =>
            `${mandate_id} ${due_date} ${status} ${attempt_count}`,
        ),
        applications: (await listAll(of, "/lending/production/applications")).map(
          ({ id, status, amount }) => `${id} ${status} ${amount}`,
        ),
        clients: (await listAll(of, "/clients")).map(({ name, created_at }) => `${name} ${created_at}`),
      });
      expect(await facts(api)).toEqual(await facts(admin));
      const [of_this, of_that] = await Promise.all(
        [again, served].map(async ({ deps }) => {
          const last_seq = await deps.usage.lastSeq(1, 60_000);
          return (await deps.usage.monthDigests(last_seq, 60_000)).map(({ month, digest }) => [
            month,
            digest,
          ]);
        }),
      );
      expect(of_this).toEqual(of_that);
    } finally {
      await again.stop();
    }
  },
  LONG_MS,
);
