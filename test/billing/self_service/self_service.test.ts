import { expect, test } from "bun:test";
import type { Api, Json } from "../../support/harness.ts";
import { type Company, CREDIT, FLAT, PER_UNIT, useBilling } from "../fixtures.ts";

const billing = useBilling();

const plan = (monthly_credits: number, price: number) => ({
  ...CREDIT,
  price,
  credit_plan: { ...CREDIT.credit_plan, monthly_credits },
});

interface Shop {
  company: Company;
  client: Api;
  /** Plans of 100, 500 and 1,000 credits. */
  plans: number[];
  id: number;
}

async function open(): Promise<Shop> {
  billing.clock.set("2026-03-01T00:00:00Z");
  const company = await billing.addCompany();
  const plans: number[] = [];
  for (const [credits, price] of [
    [100, 31],
    [500, 62],
    [1000, 93],
  ] as const)
    plans.push(await company.addModel({ ...plan(credits, price), name: `${credits} credits` }));
  const id = await company.subscribe(plans[0] ?? 0);
  const client = await company.addUser("client", company.client_id);
  billing.clock.set("2026-03-16T12:00:00Z");
  return { company, client, plans, id };
}

const allow = async ({ api }: Company, self_service: Json) =>
  api("PUT", "/company", { name: "C", timezone: "UTC", currency: "EUR", self_service });

test("nothing is allowed until the company says so", async () => {
  const { company, client, plans, id } = await open();
  const [, larger] = plans;
  const upgrade = { new_billing_model_id: larger };
  for (const [path, body] of [
    ["upgrade", upgrade],
    ["upgrade/preview", upgrade],
    ["downgrade", upgrade],
    ["downgrade/preview", upgrade],
    ["cancel", { at: "period_end" }],
    ["cancel/preview", { at: "now" }],
  ] as const) {
    const { status, body: answer } = await client("POST", `/my/subscriptions/${id}/${path}`, body);
    expect([status, answer.error]).toEqual([403, expect.stringContaining("Your provider does not let you")]);
  }
  expect((await client("GET", "/my/plans")).body).toEqual({ data: [] });
  expect((await client("GET", "/my/overview")).body.data.self_service).toEqual({});
  expect((await company.api("GET", "/company")).body.data).not.toHaveProperty("self_service");
  // One thing that is allowed allows no other.
  await allow(company, { downgrade: true, plans });
  expect((await client("POST", `/my/subscriptions/${id}/upgrade`, upgrade)).status).toBe(403);
  await allow(company, {});
  expect((await client("GET", "/my/plans")).body).toEqual({ data: [] });
});

test("a client upgrades, downgrades and cancels its own, as previewed, and as itself in the audit log", async () => {
  const { company, client, plans, id } = await open();
  const [small, middle, large] = plans;
  expect((await allow(company, { upgrade: true, downgrade: true, cancel: "now", plans })).status).toBe(200);
  expect((await client("GET", "/my/plans")).body.data.map((model: Json) => model.id)).toEqual(plans);
  const send = async (what: string, body: Json) => {
    const preview = await client("POST", `/my/subscriptions/${id}/${what}/preview`, body);
    const answer = await client("POST", `/my/subscriptions/${id}/${what}`, body);
    expect([preview.status, answer.status], JSON.stringify([preview.body, answer.body])).toEqual([200, 200]);
    return { preview: preview.body.data, answer: answer.body.data };
  };
  const up = await send("upgrade", { new_billing_model_id: large });
  // 900 × 16 / 31 = 464.5; 15 days of 31.00 and 16 of 93.00.
  expect([up.preview.credits_added, up.answer.credits_added]).toEqual([465, 465]);
  expect(up.preview.bills[0].after.total).toBe("63.00");
  const me = (await client("GET", "/me")).body.data;
  expect(up.answer).toMatchObject({ status: "applied", requested_by: me.id, old_billing_model_id: small });
  const { body: log } = await company.api("GET", "/audit-log?limit=20");
  const entry = log.data.find(({ operation }: Json) => operation === "upgrade_own_subscription");
  expect(entry).toMatchObject({
    actor: { user_id: me.id, role: "client" },
    target: { type: "billing_model_change", id: up.answer.id },
  });
  billing.clock.set("2026-03-17T12:00:00Z");
  const down = await send("downgrade", { new_billing_model_id: middle });
  expect(down.answer).toMatchObject({ status: "scheduled", effective_at: "2026-04-01T00:00:00.000Z" });
  const end = await send("cancel", { at: "now" });
  expect(end.preview.cancelled_change_ids).toEqual([down.answer.id]);
  expect(end.answer).toMatchObject({ status: "cancelled", ends_at: "2026-03-17T12:00:00.000Z" });
  expect((await client("POST", `/my/subscriptions/${id}/cancel`, { at: "now" })).status).toBe(409);
});

test("only plans that are offered, or made for the client, and only its own subscriptions", async () => {
  const { company, client, plans, id } = await open();
  const [, middle, large] = plans;
  const other_client = await company.addClient();
  const made = await company.addModel({ ...plan(700, 80), for_client_id: company.client_id });
  const theirs = await company.addModel({ ...plan(800, 85), for_client_id: other_client });
  await allow(company, { upgrade: true, cancel: "period_end", plans: [large] });
  const offered = (await client("GET", "/my/plans")).body.data.map((model: Json) => model.id);
  expect(offered).toEqual([large, made]);
  const upgrade = (of: number, new_billing_model_id: number | undefined) =>
    client("POST", `/my/subscriptions/${of}/upgrade`, { new_billing_model_id });
  for (const refused of [middle, theirs, 987_654]) {
    const { status, body } = await upgrade(id, refused);
    expect([status, body.details?.[0]]).toEqual([
      422,
      { path: "/new_billing_model_id", message: "names no plan that you may choose" },
    ]);
  }
  expect((await upgrade(id, made)).status).toBe(200);
  const another = await company.subscribe(plans[0] ?? 0, { client_id: other_client });
  expect((await upgrade(another, large)).status).toBe(404);
  for (const path of ["upgrade/preview", "cancel", "cancel/preview"]) {
    const body = path.startsWith("cancel") ? { at: "period_end" } : { new_billing_model_id: large };
    expect((await client("POST", `/my/subscriptions/${another}/${path}`, body)).status).toBe(404);
  }
  const now = await client("POST", `/my/subscriptions/${id}/cancel`, { at: "now" });
  expect([now.status, now.body.error]).toEqual([403, expect.stringContaining("before the end of a period")]);
  expect((await client("POST", `/my/subscriptions/${id}/cancel`, { at: "period_end" })).status).toBe(200);
});

test("the settings are checked, kept when they are left out, and seen in the audit log", async () => {
  const { company, plans } = await open();
  const cost = await company.addModel({ ...FLAT, purpose: "cost" });
  const theirs = await (await billing.addCompany()).addModel(FLAT);
  for (const [self_service, path] of [
    [{ plans: [plans[0], theirs] }, "/self_service/plans/1"],
    [{ plans: [cost] }, "/self_service/plans/0"],
    [{ plans: [plans[0], plans[0]] }, "/self_service/plans"],
    [{ cancel: "later" }, "/self_service/cancel"],
    [{ upgrade: "yes" }, "/self_service/upgrade"],
    [{ erase: true }, "/self_service/erase"],
  ] as const) {
    const { status, body } = await allow(company, self_service);
    expect([status, body.details?.[0].path], JSON.stringify(self_service)).toEqual([422, path]);
  }
  const self_service = { upgrade: true, plans: [plans[1]] };
  expect((await allow(company, self_service)).body.data.self_service).toEqual(self_service);
  const { body } = await company.api("PUT", "/company", { name: "C", timezone: "UTC", currency: "EUR" });
  expect(body.data.self_service).toEqual(self_service);
});

test("the overview: running months by currency, plans, credits, the last bill", async () => {
  const { company, client, plans, id } = await open();
  const { api } = company;
  billing.clock.set("2026-03-01T00:00:00Z");
  const metered = await company.subscribe({ ...PER_UNIT, currency: "USD" });
  const ended = await company.subscribe(FLAT);
  await company.subscribe(FLAT, { client_id: await company.addClient() });
  billing.clock.set("2026-04-10T00:00:00Z");
  await api("POST", `/subscriptions/${ended}/cancel`, { at: "now" });
  await company.use(id, ["2026-04-05T00:00:00Z", "130"]);
  await company.use(metered, ["2026-04-06T00:00:00Z", "7"]);
  expect((await client("GET", "/my/overview")).body.data.last_bill).toBeNull();
  await company.run({ period: "2026-03", subscription_ids: [id, metered] });
  const { data } = (await client("GET", "/my/overview")).body;
  expect(data).toMatchObject({
    as_of: "2026-04-10T00:00:00.000Z",
    // 31 and 30 credits beyond the first 100 at 0.02.
    totals: [
      { currency: "EUR", total: "31.60" },
      { currency: "USD", total: "3.50" },
    ],
    subscriptions_total: 2,
    subscriptions: [
      {
        id,
        plan: { id: plans[0], name: "100 credits" },
        from: "2026-04-01T00:00:00.000Z",
        to: "2026-05-01T00:00:00.000Z",
        total: "31.60",
        credits: { allocated: 100, used: 100, overageUsed: 30 },
      },
      { id: metered, total: "3.50", credits: null },
    ],
  });
  const records = (await client("GET", "/my/billing-records")).body.data;
  expect(data.last_bill).toEqual(records[0]);
  const credits = (await client("GET", `/my/subscriptions/${id}/credits`)).body.data;
  expect(data.subscriptions[0].credits).toEqual(credits);
  expect((await company.api("GET", "/my/overview")).status).toBe(403);
});
