import { describe, expect, test } from "bun:test";
import { FLAT, useBilling } from "../billing/fixtures.ts";
import type { Api, Json } from "../support/harness.ts";
import { billingModelMigrationTable } from "../../src/billing/billing_model_migrations/tables.ts";
import { unbilledUsageTable } from "../../src/billing/runs/tables.ts";
import { simulationRowTable, simulationTable } from "../../src/billing/simulations/tables.ts";
import { collectionRunTable } from "../../src/emandate/collections/tables.ts";
import { mandateFlagTable } from "../../src/emandate/flags/tables.ts";
import { alertFiringTable } from "../../src/entitlements/alerts/tables.ts";
import { personErasureTable } from "../../src/people/tables.ts";
import { usageUploadTable } from "../../src/usage/uploads/tables.ts";
import { webhookLogTable } from "../../src/webhooks/deliveries/tables.ts";
import { openLoans } from "../loans/applications/fixtures.ts";
import { DEFINITION, fillCompany } from "../mcp/fixtures.ts";

// Lists by a field, against sorting the whole list by hand.

const fixture = useBilling();
const NAMES = ["beta", "Alpha", "alpha", "GAMMA", "beta"];

const FIELD = { name: "purpose", label: "Purpose", type: "text" };

/** Rows of lists that would take a month of work to make. */
const SIMULATION = {
  status: "finished",
  to: "2026-04",
  currency: "USD",
  progress: { subscriptions: 3, done: 3 },
  counts: {
    subscriptions: 3,
    periods: 3,
    not_reproduced: 0,
    other_currency: 0,
    without_events: 0,
    failed: 0,
  },
  totals: { billed: "30.00", simulated: "30.00", difference: "0.00" },
  months: [],
  charges: [],
  mismatches: [],
  after_id: 0,
  attempts: 0,
};
const MIGRATION = {
  at: "next_period",
  status: "finished",
  after_id: 0,
  last_id: 0,
  counts: { subscriptions: 0, changed: 0, failed: 0 },
  errors: [],
};
const COLLECTION = {
  status: "finished",
  connector: "sandbox",
  counts: { due: 0, scheduled: 0, skipped: 0, submitted: 0, refused: 0 },
};
const LOG = {
  event_type: "client.created",
  url: "https://a.example",
  payload: { type: "client.created", timestamp: "2026-02-01T00:00:00.000Z", data: {} },
  status: "succeeded",
  step: 0,
  attempts: [],
};
const UPLOAD = {
  format: "csv",
  bytes: 1,
  lines: 1,
  digest: "",
  file: "",
  has_file: false,
  columns: [],
  sample: [],
  status: "finished",
  dry_run: true,
  rows: 0,
  accepted: 0,
  duplicates: 0,
  rejected: 0,
  named: 0,
  run: 0,
  attempts: 0,
};

async function sorted(api: Api, path: string, sort: string): Promise<Json[]> {
  const { status, body } = await api("GET", `${path}?sort=${sort}`);
  expect([path, sort, status, body.error]).toEqual([path, sort, 200, undefined]);
  return body.data;
}

const idOf = (row: Json): number => row.id ?? row.subscription_id;

function byHand(rows: Json[], sort: string): number[] {
  const field = sort.replace("-", "");
  const keyOf = ({ [field]: value }: Json) => {
    if (typeof value !== "string") return value;
    return /^-?\d+\.\d\d$/.test(value) ? Number(value) : value.toLowerCase();
  };
  const sign = sort.startsWith("-") ? -1 : 1;
  const compared = (a: Json, b: Json) => {
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return sign * (a < b ? -1 : Number(a > b));
  };
  return rows.toSorted((a, b) => compared(keyOf(a), keyOf(b)) || idOf(a) - idOf(b)).map(idOf);
}

/** Expects a list in the order of each field, page by page, and no other field to be taken; returns the list. */
async function expectSorted(api: Api, path: string, names: readonly string[]): Promise<Json[]> {
  const all = (await api("GET", path)).body.data;
  for (const sort of names.flatMap((name) => [name, `-${name}`])) {
    const rows = await sorted(api, path, sort);
    expect([path, sort, rows.map(idOf)]).toEqual([path, sort, byHand(all, sort)]);
    const page = (await api("GET", `${path}?sort=${sort}&page=2&limit=2`)).body.data;
    expect(page.map(idOf)).toEqual(rows.map(idOf).slice(2, 4));
  }
  const { status, body } = await api("GET", `${path}?sort=company_id`);
  const words = names.flatMap((name) => [name, `-${name}`]).join(", ");
  expect([status, body.details]).toEqual([422, [{ path: "/sort", message: `must be one of ${words}` }]]);
  return all;
}

/** Expects a list to find its records by their ids, of its own company alone. */
async function expectFoundByIds(api: Api, elsewhere: Api, path: string): Promise<void> {
  const [first, , third] = await sorted(api, path, "id");
  const ids = [third.id, first.id, 900_000_000_000_000].join(",");
  const found = (await api("GET", `${path}?ids=${ids}&sort=id`)).body.data;
  expect([path, found]).toEqual([path, [first, third]]);
  const { body } = await elsewhere("GET", `${path}?ids=${first.id},${third.id}`);
  expect([path, body.data]).toEqual([path, []]);
  const refused = await api("GET", `${path}?ids=${first.id},,2`);
  const message = "must be 1 to 200 ids, with commas between";
  expect([refused.status, refused.body.details]).toEqual([422, [{ path: "/ids", message }]]);
}

/** A company with rows in the lists of what was done, which are in no order of their fields. */
async function fillWork(): Promise<{ api: Api; lists: Record<string, string[]> }> {
  fixture.clock.set("2026-03-01T00:00:00Z");
  const { service } = fixture;
  const filled = await fillCompany(service, fixture.clock);
  const { company_id } = service;
  const { subscription: subscription_id } = filled;
  const api = await service.signIn(service.admin_email);
  const done = async (path: string, body: object): Promise<number> => {
    const made = await api("POST", path, body);
    expect([path, made.status < 300, made.body.error]).toEqual([path, true, undefined]);
    return made.body.data?.id;
  };
  const { lender } = await openLoans(service, { ...service, api }, "staging");
  const places = [2, 0, 1];
  const dayOf = (i: number) => `2026-02-0${i + 1}T00:00:00.000Z`;
  const stamps = (i: number) => ({ created_at: dayOf(i), updated_at: dayOf(i) });
  for (const i of places) {
    await done("/webhooks", { url: `https://${i}.example/in`, event_types: ["application.*"] });
    await done("/alerts", { name: NAMES[i], on: "spend", currency: "USD", thresholds: [100] });
    await done("/billing-runs", { period: `2026-0${i + 1}`, dry_run: true });
    const question = { range: { relative: "last_7d" }, interval: "day" };
    await done("/views", { name: NAMES[i], question });
    await done("/usage/erasures", { metadata: { user: `u${i}` } });
    const definition = { ...DEFINITION, code: `code_${i}`, title: NAMES[i] };
    expect((await lender("POST", "/lender/consent-definitions", definition)).status).toBe(201);
  }
  const endpoint_id = (await api("GET", "/webhooks")).body.data[0].id;
  const alert_id = (await api("GET", "/alerts")).body.data[0].id;
  const third = await done("/subscriptions", {
    name: "Third",
    external_subscription_id: "third",
    client_id: filled.client,
    product_id: filled.product,
    billing_model_id: filled.metered,
  });
  const rows = (rowOf: (i: number) => object): never =>
    places.map((i) => ({ company_id, ...stamps(i), ...rowOf(i) })) as never;
  const simulation = await service.deps.store.tx(async (q) => {
    const simulations = await q
      .insert(q.use(simulationTable))
      .values(rows((i) => ({ ...SIMULATION, from: `2026-0${i + 1}` })))
      .returning();
    const simulation_id = simulations[0]?.id ?? 0;
    const told = { alert_id, subscription_id, threshold: "100", value: "120", window: "month" };
    const late = { subscription_id, reason: "late", units: "5" };
    const moved = { from_billing_model_id: filled.metered, to_billing_model_id: filled.dearer };
    const flagged = { mandate_id: filled.mandate, order_id: 1, reason: "paid_twice" };
    const subscriptions = [subscription_id, filled.credit_subscription, third];
    await Promise.all([
      q.insert(q.use(simulationRowTable)).values(
        rows((i) => ({
          simulation_id,
          subscription_id: subscriptions[i],
          periods: 1,
          billed: `${9 + i}.00`,
          simulated: `${11 - i}.00`,
          difference: `${2 - 2 * i}.00`,
          reproduces: true,
        })),
      ),
      q
        .insert(q.use(alertFiringTable))
        .values(rows((i) => ({ ...told, digest: `${i}`, window_start: dayOf(0), at: dayOf(i) }))),
      q
        .insert(q.use(unbilledUsageTable))
        .values(rows((i) => ({ ...late, from: dayOf(i), event_count: 12 - i * 4 }))),
      q.insert(q.use(billingModelMigrationTable)).values(rows(() => ({ ...MIGRATION, ...moved }))),
      q
        .insert(q.use(collectionRunTable))
        .values(rows((i) => ({ ...COLLECTION, date: dayOf(i).slice(0, 10) }))),
      q
        .insert(q.use(mandateFlagTable))
        .values(rows((i) => ({ ...flagged, about: `${i}`, resolved_at: i === 1 ? null : dayOf(i) }))),
      q.insert(q.use(personErasureTable)).values(rows(() => ({ status: "done", subjects: [], records: 0 }))),
      q.insert(q.use(webhookLogTable)).values(rows((i) => ({ ...LOG, endpoint_id, message_id: `m${i}` }))),
      q.insert(q.use(usageUploadTable)).values(rows((i) => ({ ...UPLOAD, file_name: NAMES[i] }))),
    ]);
    return simulation_id;
  });
  return {
    api,
    lists: {
      "/webhooks": ["id", "url", "created_at"],
      "/lending/staging/webhooks": ["id", "url", "created_at"],
      "/alerts": ["id", "name", "created_at"],
      [`/alerts/${alert_id}/firings`]: ["id", "at"],
      "/simulations": ["id", "from", "created_at"],
      [`/simulations/${simulation}/rows`]: ["subscription_id", "billed", "simulated", "difference"],
      "/billing-runs": ["id", "period", "created_at"],
      "/billing-model-migrations": ["id", "created_at"],
      "/unbilled-usage": ["id", "from", "event_count"],
      "/views": ["id", "name", "created_at"],
      "/usage/erasures": ["id", "created_at"],
      "/usage/imports/files": ["id", "file_name", "created_at"],
      "/people/erasures": ["id", "created_at"],
      "/emandate/flags": ["id", "resolved_at"],
      "/emandate/collections": ["id", "date", "created_at"],
      "/lending/staging/consent-definitions": ["id", "code", "title", "created_at"],
      "/events": ["id"],
      "/webhook-logs": ["id"],
    },
  };
}

describe("sort", () => {
  test("orders clients, products and subscriptions by each field, ties by id, page by page", async () => {
    fixture.clock.set("2026-03-01T00:00:00Z");
    const company = await fixture.addCompany();
    const { api } = company;
    const user = await company.addUser("client", company.client_id);
    const model = await company.addModel(FLAT);
    for (const [i, name] of NAMES.entries()) {
      fixture.clock.set(`2026-03-01T0${9 - i}:00:00Z`);
      for (const path of ["/clients", "/products"]) await api("POST", path, { name });
      const code = `c${9 - i}`;
      await company.addModel({ ...FLAT, name });
      const made = [
        await api("POST", "/meters", { code, name, aggregation: "sum" }),
        await api("POST", "/features", { code, name, kind: "switch" }),
        await api("POST", "/add-ons", { code, name, currency: "USD", charge: { type: "fixed", price: "5" } }),
        await api("POST", "/users", { email: `${code}@example.com`, name, role: "analyst" }),
      ];
      const api_key = { name, role: "lender", environment: "staging" };
      made.push(
        await user("POST", "/my/forms", { name, config: { title: name, fields: [FIELD] } }),
        await api("POST", "/api-keys", api_key),
        await api("POST", "/emandate/products", {
          product_code: code,
          product_name: name,
          max_amount: `${100 + (i % 3) * 50}.00`,
          frequency: "Monthly",
        }),
        await api("POST", "/emandate/mandates", {
          customer_name: name,
          customer_email: `${code}@example.com`,
        }),
      );
      expect(made.map(({ status, body }) => [status, body.error])).toEqual(made.map(() => [201, undefined]));
      await company.subscribe(model, { name, started_at: `2026-0${(i % 3) + 1}-01T00:00:00Z` });
    }
    const fields = ["id", "name", "created_at"];
    const lists = {
      "/clients": fields,
      "/products": fields,
      "/billing-models": fields,
      "/meters": ["id", "name", "code", "created_at"],
      "/features": ["id", "name", "code", "created_at"],
      "/add-ons": ["id", "name", "code", "created_at"],
      "/users": ["id", "email", "created_at"],
      "/forms": fields,
      "/api-keys": fields,
      "/emandate/customers": ["id", "name", "email", "created_at"],
      "/emandate/products": ["id", "product_name", "product_code", "max_amount", "created_at"],
      "/subscriptions": ["id", "name", "external_subscription_id", "started_at", "created_at"],
    };
    for (const [path, names] of Object.entries(lists)) {
      const all = await expectSorted(api, path, names);
      expect(all.length).toBeGreaterThanOrEqual(5);
    }
    const { api: elsewhere } = await fixture.addCompany();
    for (const path of ["/clients", "/billing-models", "/meters", "/subscriptions", "/emandate/mandates"])
      await expectFoundByIds(api, elsewhere, path);
  });

  test("orders what is kept of what was done, and what is told of it", async () => {
    const { api, lists } = await fillWork();
    for (const [path, names] of Object.entries(lists)) {
      const all = await expectSorted(api, path, names);
      expect([path, all.length >= 3]).toEqual([path, true]);
    }
    const page = async (sort: string) => (await api("GET", `/audit-log?sort=${sort}&limit=200`)).body.data;
    expect(await page("at")).toEqual((await page("-at")).toReversed());
  });

  test("is there on every list of a company's records", async () => {
    const { paths } = (await fixture.service.anonymous("GET", "origin:/openapi.json")).body;
    const without = Object.entries<Json>(paths).flatMap(([path, { get }]) => {
      const names = (get?.parameters ?? []).map(({ name }: Json) => name);
      return names.includes("page") && !names.includes("sort") ? [path.replace("/api/v1", "")] : [];
    });
    // Those of one record or one user are short, and in the order of time; reports are by amount.
    const others = /^\/me\/|\{id\}|^\/revenue|^\/running-bills/;
    expect(without.filter((path) => !others.test(path))).toEqual([]);
  });

  test("puts what has no value last, in either direction", async () => {
    const { api } = await fixture.addCompany();
    const ids: number[] = [];
    for (const [i, amount] of ["100.00", undefined, "20.00", undefined].entries()) {
      const customer = { customer_name: "Siti", customer_email: `siti${i}@example.com` };
      const debit = amount === undefined ? {} : { bankscheme_txn_amount: amount };
      const made = await api("POST", "/emandate/mandates", { ...customer, ...debit });
      ids.push(made.body.data.id);
    }
    const [most, none, least, neither] = ids;
    const orderBy = async (sort: string) =>
      (await sorted(api, "/emandate/mandates", sort)).map(({ id }) => id);
    expect(await orderBy("bankscheme_txn_amount")).toEqual([least, most, none, neither]);
    expect(await orderBy("-bankscheme_txn_amount")).toEqual([most, least, none, neither]);
  });
});
