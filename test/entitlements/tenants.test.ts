import { beforeAll, expect, test } from "bun:test";
import { FLAT, PER_UNIT } from "../billing/fixtures.ts";
import type { Api, Json } from "../support/harness.ts";
import { runNamedJob } from "../support/jobs.ts";
import { agentFor } from "../support/mcp_clients.ts";
import { useLimits } from "./fixtures.ts";

// What prices and limits are made of, by the ids of another company and of another client, in every route and tool.

const limits = useLimits();
const MONTHS = { from: "2026-01", to: "2026-02" };
const DAYS = { from: "2026-01-01T00:00:00Z", to: "2026-02-01T00:00:00Z" };
const PLAN = { name: "P", description: "", currency: "EUR", price: 0, billing_type_id: 2 };
const MAY = "2026-05-01T00:00:00Z";

/** A company with one of each. */
async function furnish() {
  const company = await limits.addLimited();
  const { api, meter_id } = company;
  const create = async (path: string, body: Json): Promise<number> => {
    const answer = await api("POST", path, body);
    if (answer.status > 202) throw new Error(`POST ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body.data.id;
  };
  const entitlements = [{ feature: "tokens", limit: 1000, window: "month" }];
  const model = await company.addModel({ ...PER_UNIT, meter_id, entitlements });
  const flat = await company.addModel(FLAT);
  const cost = await company.addModel({ ...PER_UNIT, purpose: "cost" });
  const other_client = await company.addClient();
  const copy = await create(`/billing-models/${model}/copy`, { for_client_id: other_client });
  const external = `furnished ${company.company_id}`;
  const life = { external_subscription_id: external, started_at: "2026-01-01T00:00:00Z" };
  const subscription = await company.subscribe(model, life);
  const charge = { type: "fixed", price: "12" };
  const add_on = await create("/add-ons", { code: "seats", name: "Seats", currency: "EUR", charge });
  const booking = await create(`/subscriptions/${subscription}/add-ons`, { add_on_id: add_on });
  const alert = await create("/alerts", { name: "A", on: "usage", meter_id, thresholds: [5] });
  await api("PUT", `/subscriptions/${subscription}/spend-limit`, { amount: 1_000_000 });
  await api("PUT", `/subscriptions/${subscription}/entitlements/sso`, {});
  for (const period of Object.values(MONTHS)) await company.run({ period });
  const simulation = await create("/simulations", { billing_model_id: cost, ...MONTHS });
  const change = await create(`/subscriptions/${subscription}/billing-model-changes`, {
    new_billing_model_id: flat,
    effective_at: "2027-01-01T00:00:00Z",
  });
  const move = { from_billing_model_id: model, to_billing_model_id: flat, at: "2027-02-01T00:00:00Z" };
  const migration = await create("/billing-model-migrations", move);
  await runNamedJob(limits.service, "spend_limits");
  const held = await company.check(external, { units: 5, reserve_s: 3600 });
  const features = (await api("GET", "/features")).body.data;
  const products = (await api("GET", "/products")).body.data;
  return {
    ...company,
    model,
    flat,
    cost,
    copy,
    subscription,
    external,
    add_on,
    booking,
    alert,
    simulation,
    change,
    migration,
    other_client,
    product_id: products[0].id,
    feature: features[0].id,
    reservation: held.body.data.reservation.id,
  };
}
type Furnished = Awaited<ReturnType<typeof furnish>>;

let theirs: Furnished;
let own: Furnished;
beforeAll(async () => {
  limits.clock.set("2026-03-10T12:00:00Z");
  [theirs, own] = [await furnish(), await furnish()];
});

type Call = [method: "GET" | "POST" | "PUT" | "DELETE", path: string, body?: Json];

/** Of each path what it may be asked, of which the company knows nothing. */
function pathsOf(t: Furnished, o: Furnished): Call[] {
  const [s, mine] = [`/subscriptions/${t.subscription}`, `/subscriptions/${o.subscription}`];
  const all = (path: string, body: Json): Call[] => [
    ["GET", path],
    ["PUT", path, body],
    ["DELETE", path],
  ];
  const change = { new_billing_model_id: o.flat, effective_at: MAY };
  return [
    ...all(`/meters/${t.meter_id}`, { name: "x" }),
    ...all(`/features/${t.feature}`, { name: "x" }),
    ...all(`/add-ons/${t.add_on}`, { name: "x" }),
    ...all(`/billing-models/${t.model}`, { name: "x", description: "" }),
    ["POST", `/billing-models/${t.model}/copy`, { for_client_id: o.client_id }],
    ["GET", `/billing-model-migrations/${t.migration}`],
    ["GET", `/simulations/${t.simulation}`],
    ["GET", `/simulations/${t.simulation}/rows`],
    ["GET", `/simulations/${t.simulation}/file`],
    ["DELETE", `/simulations/${t.simulation}`],
    ...all(`/alerts/${t.alert}`, { name: "x" }),
    ["GET", `/alerts/${t.alert}/firings`],
    ["GET", `${s}/entitlements`],
    ["PUT", `${s}/entitlements/tokens`, { limit: 1, window: "day" }],
    ["DELETE", `${s}/entitlements/sso`],
    ...all(`${s}/spend-limit`, { amount: 1 }),
    ["GET", `${s}/add-ons`],
    ["POST", `${s}/add-ons`, { add_on_id: o.add_on }],
    ...[s, mine].flatMap((whose): Call[] => [
      ["PUT", `${whose}/add-ons/${t.booking}`, { quantity: 2 }],
      ["DELETE", `${whose}/add-ons/${t.booking}`],
      ["DELETE", `${whose}/billing-model-changes/${t.change}`],
      ["POST", `${whose}/billing-model-changes/${t.change}/void`, {}],
    ]),
    ["GET", `${s}/preview`],
    ["POST", `${s}/billing-model-changes`, change],
    ["POST", `${s}/billing-model-changes/preview`, change],
    ["GET", `/clients/${t.client_id}/billing-profile`],
    ["PUT", `/clients/${t.client_id}/billing-profile`, { interim_at: "5" }],
    ["DELETE", `/usage/reservations/${t.reservation}`],
  ];
}

/** What names another's record in a body or a query, with the field that is refused. */
function bodiesOf(t: Furnished, o: Furnished): [path: string, body: Json, field: string][] {
  const charges = [{ code: "c", name: "C", type: "per_unit", meter_id: t.meter_id, price: "1" }];
  const rates = [{ meter_id: t.meter_id, credits: 1 }];
  const credit_plan = { monthly_credits: 1, credit_consumption: "per_unit", rates };
  const quantities = [{ meter_id: t.meter_id, quantity: "1" }];
  const usage = { name: "A", on: "usage", thresholds: [5] };
  const spend = { name: "A", on: "spend", thresholds: [5] };
  const move = { from_billing_model_id: o.model, to_billing_model_id: o.flat, at: "next_period" };
  const tried = { billing_model_id: o.model, ...MONTHS };
  const mine = `/subscriptions/${o.subscription}`;
  const sold = {
    name: "S",
    external_subscription_id: "sold",
    client_id: o.client_id,
    product_id: o.product_id,
  };
  const quoted = { billing_model_id: o.model };
  const changes = [`${mine}/billing-model-changes`, `${mine}/billing-model-changes/preview`];
  return [
    [
      "/meters/try",
      { meter: { aggregation: "count" }, ...DAYS, subscription_ids: [t.subscription] },
      "/subscription_ids/0",
    ],
    ["/features", { code: "f", name: "F", kind: "limit", meter_id: t.meter_id }, "/meter_id"],
    [
      "/add-ons",
      {
        code: "a",
        name: "A",
        currency: "EUR",
        charge: { type: "per_unit", price: "1", meter_id: t.meter_id },
      },
      "/charge/meter_id",
    ],
    [`/billing-models/${o.model}/copy`, { for_client_id: t.client_id }, "/for_client_id"],
    ["/billing-models", { ...PLAN, meter_id: t.meter_id }, "/meter_id"],
    ["/billing-models", { ...PLAN, charges }, "/charges/0/meter_id"],
    ["/billing-models", { ...PLAN, for_client_id: t.client_id }, "/for_client_id"],
    ["/billing-models", { ...PLAN, billing_type_id: 6, credit_plan }, "/credit_plan/rates/0/meter_id"],
    ["/billing-models/quote", { billing_model_id: t.model }, "/billing_model_id"],
    [
      "/billing-models/quote",
      { ...quoted, subscription_id: t.subscription, period: "2026-01" },
      "/subscription_id",
    ],
    ["/billing-models/quote", { ...quoted, quantities }, "/quantities/0/meter_id"],
    ["/billing-models/quote", { ...quoted, curve: { meter_id: t.meter_id } }, "/curve/meter_id"],
    ["/billing-models/quote", { billing_model: { ...PLAN, charges } }, "/billing_model/charges/0/meter_id"],
    ["/billing-model-migrations", { ...move, from_billing_model_id: t.model }, "/from_billing_model_id"],
    ["/billing-model-migrations", { ...move, to_billing_model_id: t.flat }, "/to_billing_model_id"],
    ["/billing-model-migrations", { ...move, to_billing_model_id: o.cost }, "/to_billing_model_id"],
    ["/billing-model-migrations", { ...move, subscription_ids: [t.subscription] }, "/subscription_ids/0"],
    ["/simulations", { ...tried, billing_model_id: t.model }, "/billing_model_id"],
    ["/simulations", { ...tried, of: { billing_model_id: t.model } }, "/of/billing_model_id"],
    ["/simulations", { ...tried, of: { client_ids: [t.client_id] } }, "/of/client_ids/0"],
    ["/simulations", { ...tried, of: { subscription_ids: [t.subscription] } }, "/of/subscription_ids/0"],
    ["/simulations", { billing_model: { ...PLAN, charges }, ...MONTHS }, "/billing_model/charges/0/meter_id"],
    ["/alerts", { ...usage, meter_id: t.meter_id }, "/meter_id"],
    ["/alerts", { ...spend, scope: { client_ids: [t.client_id] } }, "/scope/client_ids/0"],
    ["/alerts", { ...spend, scope: { billing_model_ids: [t.model] } }, "/scope/billing_model_ids/0"],
    ["/alerts", { ...spend, scope: { subscription_ids: [t.subscription] } }, "/scope/subscription_ids/0"],
    [`${mine}/add-ons`, { add_on_id: t.add_on }, "/add_on_id"],
    // Another company's, another client's, and a cost: none can be sold.
    ...[t.model, o.copy, o.cost].flatMap((new_billing_model_id): [string, Json, string][] =>
      changes.map((path) => [path, { new_billing_model_id, effective_at: MAY }, "/new_billing_model_id"]),
    ),
    ...[t.model, o.copy, o.cost].map((billing_model_id): [string, Json, string] => [
      "/subscriptions",
      { ...sold, billing_model_id },
      "/billing_model_id",
    ]),
    [
      "/usage/check",
      { external_subscription_id: t.external, feature: "tokens" },
      "/external_subscription_id",
    ],
    ["/usage/events", { external_subscription_id: t.external, usage: 1 }, "/external_subscription_id"],
  ];
}

/** All that a company has. */
async function seen({
  api,
  subscription,
  simulation,
  client_id,
  alert,
  migration,
}: Furnished): Promise<Json> {
  const s = `/subscriptions/${subscription}`;
  const paths = ["/meters", "/features", "/add-ons", "/billing-models", "/simulations", "/alerts"].concat(
    [`/billing-model-migrations/${migration}`, `/simulations/${simulation}/rows`, `/alerts/${alert}/firings`],
    ["/entitlements", "/spend-limit", "/add-ons", "/billing-model-changes"].map((part) => s + part),
    [`/clients/${client_id}/billing-profile`],
  );
  return Promise.all(paths.map(async (path) => (await api("GET", path)).body.data));
}

test("of another company they are not there, and stay as they are", async () => {
  const before = await seen(theirs);
  expect(before.every((data: Json) => data !== undefined)).toBe(true);
  for (const [method, path, body] of pathsOf(theirs, own)) {
    const answer = await own.api(method, path, body);
    expect([method, path, answer.status]).toEqual([method, path, 404]);
  }
  for (const [path, body, field] of bodiesOf(theirs, own)) {
    const { status, body: answer } = await own.api("POST", path, body);
    expect([path, status, answer.details?.[0].path]).toEqual([path, 422, field]);
  }
  const changes: Json[] = [{ meter_id: theirs.meter_id }, { scope: { client_ids: [theirs.client_id] } }];
  for (const change of changes)
    expect((await own.api("PUT", `/alerts/${own.alert}`, { name: "A", ...change })).status).toBe(422);
  const margins = `/revenue/margins?cost_model_id=${theirs.cost}&from=2026-01&to=2026-02`;
  expect((await own.api("GET", margins)).status).toBe(422);
  // A company's reservations keep no id from another.
  const event = { id: theirs.reservation, external_subscription_id: own.external, usage: 1 };
  expect((await own.api("POST", "/usage/events", event)).status).toBe(201);
  expect(await seen(theirs)).toEqual(before);
  for (const list of [
    `/billing-models?for_client_id=${theirs.other_client}`,
    `/alerts/${own.alert}/firings?subscription_id=${theirs.subscription}`,
  ])
    expect((await own.api("GET", list)).body.data).toEqual([]);
});

test("a migration to another client's prices moves nobody, and says so", async () => {
  const move = { from_billing_model_id: own.model, to_billing_model_id: own.copy, at: "next_period" };
  const { id } = (await own.api("POST", "/billing-model-migrations", move)).body.data;
  await runNamedJob(limits.service, "billing_model_migrations");
  expect((await own.api("GET", `/billing-model-migrations/${id}`)).body.data).toMatchObject({
    status: "finished",
    counts: { subscriptions: 1, changed: 0, failed: 1 },
    errors: [{ subscription_id: own.subscription }],
  });
});

test("of another client they are not there, and of none without a way of its own", async () => {
  const users: Api[] = [
    await own.addUser("client", own.other_client),
    await theirs.addUser("client", theirs.client_id),
  ];
  const s = `/my/subscriptions/${own.subscription}`;
  const calls: Call[] = [
    ["GET", s],
    ["GET", `${s}/entitlements`],
    ["GET", `${s}/spend-limit`],
    ["PUT", `${s}/spend-limit`, { amount: 1 }],
    ["DELETE", `${s}/spend-limit`],
    ["GET", `${s}/add-ons`],
    ["GET", `${s}/preview`],
    ["POST", `${s}/upgrade`, { new_billing_model_id: own.model }],
    ["POST", `${s}/upgrade/preview`, { new_billing_model_id: own.model }],
    ["POST", `${s}/cancel`, { at: "now" }],
    ["POST", `${s}/cancel/preview`, { at: "now" }],
  ];
  for (const api of users)
    for (const [method, path, body] of calls)
      expect([method, path, (await api(method, path, body)).status]).toEqual([method, path, 404]);
  const itself = await own.addUser("client", own.client_id);
  expect((await itself("GET", `${s}/spend-limit`)).status).toBe(200);
  const asked = { external_subscription_id: own.external, feature: "tokens" };
  for (const [method, path, body] of [...pathsOf(own, own), ["POST", "/usage/check", asked] as Call])
    expect([method, path, (await itself(method, path, body)).status]).toEqual([method, path, 403]);
});

test("tools know them as little", async () => {
  const agent = await agentFor(limits.service, own.admin_email);
  const at = { effective_at: MAY, kind: "change" };
  const calls: [tool: string, input: Json][] = [
    ["billing_check_usage", { subscription_id: theirs.subscription, feature: "tokens" }],
    ["billing_change_plan", { subscription_id: theirs.subscription, new_billing_model_id: own.flat, ...at }],
    ["billing_change_plan", { subscription_id: own.subscription, new_billing_model_id: theirs.flat, ...at }],
    [
      "billing_preview_change",
      { subscription_id: theirs.subscription, new_billing_model_id: own.flat, ...at },
    ],
    ["billing_migrate_plan", { migration_id: theirs.migration }],
    [
      "billing_migrate_plan",
      { from_billing_model_id: theirs.model, to_billing_model_id: own.flat, at: "next_period" },
    ],
    ["billing_save_billing_model", { billing_model_id: theirs.model, name: "x", description: "" }],
    ["billing_save_meter", { meter_id: theirs.meter_id, name: "x" }],
    [
      "billing_try_meter",
      { meter: { aggregation: "count" }, ...DAYS, subscription_ids: [theirs.subscription] },
    ],
    ["billing_simulate_prices", { billing_model_id: theirs.model, ...MONTHS }],
    ["billing_find_simulations", { simulation_id: theirs.simulation }],
    ["billing_find_catalog", { kind: "meter", id: theirs.meter_id }],
    ["billing_find_catalog", { kind: "add_on", id: theirs.add_on }],
    ["billing_find_catalog", { kind: "billing_model", id: theirs.model }],
    ["billing_get_subscription_overview", { subscription_id: theirs.subscription }],
    ["billing_delete", { kind: "billing_model", id: theirs.model }],
  ];
  for (const [tool, input] of calls) {
    const { is_error, text } = await agent.call(tool, input);
    expect([tool, is_error, text]).toEqual([tool, true, expect.stringMatching(/not found|names no/)]);
  }
  await agent.close();
});
