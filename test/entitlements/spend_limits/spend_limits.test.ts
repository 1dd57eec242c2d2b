import { beforeAll, beforeEach, expect, spyOn, test } from "bun:test";
import * as fc from "fast-check";
import { decideSpend } from "../../../src/entitlements/checks/rules.ts";
import { spendKey } from "../../../src/entitlements/spend_limits/watch.ts";
import { PER_UNIT } from "../../billing/fixtures.ts";
import type { Api, Json } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { type LimitedCompany, useLimits } from "../fixtures.ts";

const limits = useLimits();
let company: LimitedCompany;
let client: Api;

beforeAll(async () => {
  limits.clock.set("2026-03-10T12:00:00Z");
  company = await limits.addLimited();
  client = await company.addUser("client", company.client_id);
});
beforeEach(() => limits.clock.set("2026-03-10T12:00:00Z"));

let names = 0;
/** A subscription at 0.50 a unit that may use single sign-on; its id and external id. */
async function subscribe(): Promise<{ id: number; external: string }> {
  const external = `spending ${++names}`;
  const model = await company.addModel({ ...PER_UNIT, entitlements: [{ feature: "sso" }] });
  const options = { external_subscription_id: external, started_at: "2026-01-01T00:00:00Z" };
  return { id: await company.subscribe(model, options), external };
}

const path = (id: number) => `/subscriptions/${id}/spend-limit`;
const rate = () => runNamedJob(limits.service, "spend_limits");
const check = async (external: string) => {
  const { allowed, reason, certain } = (await company.check(external, { feature: "sso" })).body.data;
  return [allowed, reason, certain];
};

test("what a subscription comes to, as its preview rates it, is held against its hard limit", async () => {
  const { id, external } = await subscribe();
  await company.send(external, { usage: 10 });
  expect(await check(external)).toEqual([true, null, true]);
  const set = await company.api("PUT", path(id), { amount: "10" });
  expect([set.status, set.body.data]).toEqual([
    200,
    {
      subscription_id: id,
      currency: "EUR",
      company: { amount: "10", hard: true },
      client: null,
      spent: null,
      as_of: null,
    },
  ]);
  // Nobody has rated it yet.
  expect(await check(external)).toEqual([false, "uncertain", false]);
  await rate();
  expect(await check(external)).toEqual([true, null, true]);
  expect((await company.api("GET", path(id))).body.data).toMatchObject({
    spent: "5.00",
    as_of: "2026-03-10T12:00:00.000Z",
  });
  await company.send(external, { usage: 10 });
  await rate();
  expect(await check(external)).toEqual([false, "spend_limit", true]);
  // A correction gives room again, a soft limit tells and allows.
  await company.send(external, { usage: -1 });
  await rate();
  expect(await check(external)).toEqual([true, null, true]);
  await company.api("PUT", path(id), { amount: 9, hard: false });
  expect(await check(external)).toEqual([true, "spend_limit", true]);
  // Another period begins at nothing, once it is rated.
  await company.api("PUT", path(id), { amount: "1" });
  limits.clock.set("2026-04-01T00:00:00Z");
  expect(await check(external)).toEqual([false, "uncertain", false]);
  await rate();
  expect(await check(external)).toEqual([true, null, true]);
  expect((await company.api("DELETE", path(id))).status).toBe(200);
  expect((await company.api("DELETE", path(id))).status).toBe(404);
  expect(await check(external)).toEqual([true, null, true]);
});

test("usage between a limit's removal and one that is set anew is heard of", async () => {
  const { id, external } = await subscribe();
  await company.send(external, { usage: 10 });
  await company.api("PUT", path(id), { amount: "10" });
  await rate();
  expect((await company.api("DELETE", path(id))).status).toBe(200);
  await company.send(external, { usage: 10 });
  await company.api("PUT", path(id), { amount: "10" });
  await rate();
  expect(await check(external)).toEqual([false, "spend_limit", true]);
  // Of a company without limits nothing is rated meanwhile.
  expect((await company.api("DELETE", path(id))).status).toBe(200);
  await company.send(external, { usage: -1 });
  limits.clock.set("2026-03-10T12:00:10Z");
  await company.api("PUT", path(id), { amount: "10" });
  expect(await check(external)).toEqual([false, "uncertain", false]);
  await rate();
  expect(await check(external)).toEqual([true, null, true]);
});

test("of a subscription that an alert has rated the first limit is certain at once", async () => {
  const { id, external } = await subscribe();
  const alert = { name: "Dear", on: "spend", scope: { subscription_ids: [id] }, thresholds: ["1000"] };
  expect((await company.api("POST", "/alerts", alert)).status).toBe(201);
  await company.send(external, { usage: 20 });
  await rate();
  const set = await company.api("PUT", path(id), { amount: "10" });
  expect(set.body.data).toMatchObject({ spent: "10.00", as_of: "2026-03-10T12:00:00.000Z" });
  expect(await check(external)).toEqual([false, "spend_limit", true]);
});

/** Whether a subscription's charges are known in any process, and its usage is heard of. */
function rated(company_id: number, id: number): [boolean, boolean] {
  const all = limits.service.instances.map((instance) => instance.limits);
  const now_ms = limits.clock.now().epochMilliseconds;
  return [
    all.some((live) => live.spendingOf(company_id).at(id, now_ms) !== undefined),
    all.some((live) => live.watchedKeys(company_id).includes(spendKey(company_id, id))),
  ];
}

test("of a subscription that has ended charges are forgotten, and usage is heard of no more", async () => {
  const { id } = await subscribe();
  await company.api("PUT", path(id), { amount: "10" });
  await rate();
  expect((await company.api("POST", `/subscriptions/${id}/cancel`, { at: "now" })).status).toBe(200);
  await rate();
  // What it came to in its last moments is told of for a while.
  expect(rated(company.company_id, id)).toEqual([true, true]);
  limits.clock.set("2026-03-10T13:00:01Z");
  await rate();
  expect(rated(company.company_id, id)).toEqual([false, false]);
});

test("so are they when a company takes its last limit away", async () => {
  const { company_id, ...other } = await limits.addLimited();
  const id = await other.subscribe(PER_UNIT, { started_at: "2026-01-01T00:00:00Z" });
  await other.api("PUT", path(id), { amount: "10" });
  await rate();
  expect(rated(company_id, id)).toEqual([true, true]);
  await other.api("DELETE", path(id));
  // Ratings pass by companies without a limit.
  await rate();
  await runNamedJob(limits.service, "limits_watch");
  expect(rated(company_id, id)).toEqual([false, false]);
});

test("a rating that fails is made again, though no more usage came", async () => {
  const { id, external } = await subscribe();
  await company.api("PUT", path(id), { amount: "10" });
  await rate();
  await company.send(external, { usage: 30 });
  const failing = limits.service.instances.map(({ usage }) =>
    spyOn(usage, "totals").mockRejectedValueOnce(new Error("the store is down")),
  );
  await rate();
  for (const one of failing) one.mockRestore();
  expect(await check(external)).toEqual([true, null, true]);
  await rate();
  expect(await check(external)).toEqual([false, "spend_limit", true]);
});

test("a client user sets its own, at most the company's; both hold", async () => {
  const { id, external } = await subscribe();
  const mine = `/my${path(id)}`;
  const own = await client("PUT", mine, { amount: "50" });
  expect(own.body.data).toMatchObject({ company: null, client: { amount: "50", hard: true } });
  expect((await company.api("PUT", path(id), { amount: "20", hard: false })).status).toBe(200);
  const refused = await client("PUT", mine, { amount: "20.01" });
  expect([refused.status, refused.body.details[0].path]).toEqual([422, "/amount"]);
  expect((await client("PUT", mine, { amount: "4" })).body.data).toMatchObject({
    company: { amount: "20" },
    client: { amount: "4" },
  });
  await company.send(external, { usage: 8 });
  await rate();
  expect(await check(external)).toEqual([false, "spend_limit", true]);
  // The company's way does not touch the client's own.
  await company.api("DELETE", path(id));
  expect(await check(external)).toEqual([false, "spend_limit", true]);
  expect((await client("DELETE", mine)).status).toBe(200);
  expect(await check(external)).toEqual([true, null, true]);
});

test("who may not, another's subscription and bad amounts are refused", async () => {
  const { id } = await subscribe();
  const stranger = await limits.addLimited();
  const analyst = await company.addUser("analyst");
  const other_client = await company.addUser("client", await company.addClient());
  for (const method of ["GET", "PUT", "DELETE"] as const) {
    const body: Json = method === "PUT" ? { amount: 1 } : undefined;
    expect((await stranger.api(method, path(id), body)).status).toBe(404);
    expect((await other_client(method, `/my${path(id)}`, body)).status).toBe(404);
  }
  expect((await analyst("GET", path(id))).status).toBe(200);
  expect((await analyst("PUT", path(id), { amount: 1 })).status).toBe(403);
  for (const amount of [-1, "x", null]) {
    const { status, body } = await company.api("PUT", path(id), { amount });
    expect([status, body.details[0].path]).toEqual([422, "/amount"]);
  }
});

test("a hard limit that is reached refuses, whatever the order, and a decision that refuses stays", () => {
  const amount = fc.integer({ min: 0, max: 20 }).map(String);
  const limit = fc.record({ amount, hard: fc.boolean() });
  fc.assert(
    fc.property(fc.array(limit, { maxLength: 2 }), amount, fc.boolean(), (all, spent, is_allowed) => {
      const before = {
        allowed: is_allowed,
        reason: is_allowed ? null : "limit",
        shown: null,
        certain: true,
      } as const;
      const after = decideSpend(before, all, spent, "deny");
      if (!is_allowed) expect(after).toEqual(before);
      else {
        const reached = all.filter((one) => Number(spent) >= Number(one.amount));
        expect(after.allowed).toBe(!reached.some(({ hard }) => hard));
        expect(after.reason).toBe(reached.length > 0 ? "spend_limit" : null);
      }
    }),
  );
});
