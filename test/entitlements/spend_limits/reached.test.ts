import { beforeEach, expect, test } from "bun:test";
import { type Company, PER_UNIT, useBilling } from "../../billing/fixtures.ts";
import type { Json } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";

// What is told of spend limits, also where a company has no feature and no alert.

const billing = useBilling();
beforeEach(() => billing.clock.set("2026-03-10T12:00:00Z"));

async function look(): Promise<void> {
  await runNamedJob(billing.service, "spend_limits");
  await runNamedJob(billing.service, "alerts");
}

async function start() {
  const company = await billing.addCompany();
  const id = await company.subscribe(PER_UNIT, {
    external_subscription_id: "acme",
    started_at: "2026-01-01T00:00:00Z",
  });
  const path = `/subscriptions/${id}/spend-limit`;
  const limit = async (amount: number, hard = true, api: Company["api"] = company.api, to = path) =>
    expect((await api("PUT", to, { amount, hard })).status).toBe(200);
  const use = (usage: number) =>
    company.api("POST", "/usage/events", { external_subscription_id: "acme", usage });
  const told = async (): Promise<Json[]> =>
    (await company.api("GET", "/events?type=spend_limit.reached")).body.data
      .map(({ data }: Json) => data)
      .toReversed();
  return { company, id, limit, use, told };
}

test("a spend limit that is reached is told once a billing period, and a changed one again", async () => {
  const { id, limit, use, told } = await start();
  await limit(5);
  await use(9.98);
  await look();
  expect(await told()).toEqual([]);
  await use(0.02);
  await look();
  const first = {
    firing_id: expect.any(Number),
    subscription_id: id,
    set_by: "company",
    hard: true,
    currency: "EUR",
    threshold: "100",
    value: "5.00",
    limit: "5",
    window: "month",
    window_start: "2026-03-01T00:00:00.000Z",
    window_end: "2026-04-01T00:00:00.000Z",
    per: null,
    at: "2026-03-10T12:00:00.000Z",
  };
  expect(await told()).toEqual([first]);
  await use(-1);
  await look();
  await use(1);
  await look();
  expect(await told()).toEqual([first]);
  // A soft one, of which nothing else tells; it is passed already.
  await limit(4, false);
  await runNamedJob(billing.service, "alerts");
  expect(await told()).toEqual([first, { ...first, hard: false, limit: "4", firing_id: expect.any(Number) }]);
  billing.clock.set("2026-04-10T12:00:00Z");
  await use(20);
  await look();
  expect((await told()).slice(2)).toMatchObject([{ value: "10.00", window_start: first.window_end }]);
});

test("the client's own limit is told of beside the company's, and no other company hears of either", async () => {
  const { company, id, limit, use, told } = await start();
  const stranger = await start();
  const client = await company.addUser("client", company.client_id);
  await limit(6);
  await limit(3, true, client, `/my/subscriptions/${id}/spend-limit`);
  await use(7);
  await look();
  expect(await told()).toMatchObject([{ set_by: "client", limit: "3", value: "3.50" }]);
  await use(7);
  await look();
  expect((await told()).slice(1)).toMatchObject([{ set_by: "company", limit: "6", value: "7.00" }]);
  expect(await stranger.told()).toEqual([]);
});

test("what was used up in a period's last moments is told of after its end, and nothing of a limit of 0 unused", async () => {
  const { limit, use, told } = await start();
  const unused = await start();
  await unused.limit(0);
  await limit(5);
  billing.clock.set("2026-03-31T23:59:59Z");
  await use(10);
  billing.clock.set("2026-04-01T00:00:30Z");
  await look();
  expect(await told()).toMatchObject([{ value: "5.00", window_end: "2026-04-01T00:00:00.000Z" }]);
  expect(await unused.told()).toEqual([]);
});

test("what was used up in a subscription's last moments is told of after it has ended", async () => {
  const { company, id, limit, use, told } = await start();
  await limit(5);
  await look();
  await use(10);
  billing.clock.set("2026-03-10T12:00:01Z");
  expect((await company.api("POST", `/subscriptions/${id}/cancel`, { at: "now" })).status).toBe(200);
  billing.clock.set("2026-03-10T12:00:02Z");
  await look();
  expect(await told()).toMatchObject([{ value: "5.00", limit: "5" }]);
});
