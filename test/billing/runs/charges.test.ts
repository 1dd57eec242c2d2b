import { expect, test } from "bun:test";
import { sum } from "../../../src/core/money.ts";
import type { Api, Json } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { FLAT, useBilling } from "../fixtures.ts";
import { ms } from "../../usage/fixtures.ts";

// Bills of models with charges, as worked out by hand.

const billing = useBilling();

const shown = (record: Json) =>
  record.lines.map((line: Json) => [
    line.kind,
    line.charge_code ?? null,
    line.match ?? null,
    line.quantity,
    line.amount,
  ]);

/** Charges for input, output and users, by meters of their own. */
async function tokenCharges(api: Api): Promise<Json[]> {
  const meter = async (body: Json) => (await api("POST", "/meters", body)).body.data.id;
  const input = await meter({
    code: "input",
    name: "Input",
    aggregation: "sum",
    group_keys: ["model"],
    value: [{ key: "metadata:input" }, { key: "metadata:cached", times: -1 }],
  });
  const output = await meter({
    code: "output",
    name: "Output",
    aggregation: "sum",
    group_keys: ["model"],
    value: [{ key: "metadata:output" }],
  });
  const users = await meter({
    code: "users",
    name: "Users",
    aggregation: "unique",
    value: [{ key: "metadata:user" }],
  });
  return [
    {
      code: "input",
      name: "Input",
      meter_id: input,
      type: "per_unit",
      price: "3",
      per: "1000000",
      prices: [{ match: { model: "small" }, price: "0.25" }],
    },
    {
      code: "output",
      name: "Output",
      meter_id: output,
      type: "per_unit",
      price: "15",
      per: "1000000",
      prices: [{ match: { model: "small" }, price: "1.25" }],
    },
    {
      code: "users",
      name: "Users",
      meter_id: users,
      type: "graduated",
      usage_tiers: [
        { up_to: "10", unit_price: "0" },
        { up_to: null, unit_price: "5" },
      ],
    },
  ];
}

type Use = (at: string, metadata: Json) => Promise<void>;

/** What sends an event of a subscription. */
async function usageOf(api: Api, id: number): Promise<{ external_subscription_id: string; use: Use }> {
  const { external_subscription_id } = (await api("GET", `/subscriptions/${id}`)).body.data;
  const use: Use = async (at, metadata) => {
    const event = {
      id: crypto.randomUUID(),
      external_subscription_id,
      timestamp: ms(at),
      usage: 1,
      metadata: { email: "ada@example.com", ...metadata },
    };
    const { status, body } = await api("POST", "/usage/events", [event]);
    expect([status, body.error]).toEqual([201, undefined]);
  };
  return { external_subscription_id, use };
}

async function useTokens(use: Use): Promise<void> {
  await use("2024-03-05T00:00:00Z", { model: "large", input: 22_729_000, cached: 17_323_000 });
  await use("2024-03-06T00:00:00Z", { model: "small", input: 4_000_000, cached: 0 });
  await use("2024-03-06T00:00:00Z", { model: "large", output: 457_000 });
  await use("2024-03-07T00:00:00Z", { model: "small", output: 2_000_000 });
  for (let i = 0; i < 14; i++) await use("2024-03-08T00:00:00Z", { user: `u${i}` });
}

test("input, cached and output tokens are priced apart, by model", async () => {
  const company = await billing.addCompany({ currency: "EUR" });
  const { api } = company;
  const charges = await tokenCharges(api);
  billing.clock.set("2024-03-01T00:00:00Z");
  const id = await company.subscribe({ ...FLAT, charges });
  const { external_subscription_id, use } = await usageOf(api, id);
  billing.clock.set("2024-03-31T12:00:00Z");
  await useTokens(use);
  const preview = (await api("GET", `/subscriptions/${id}/preview`)).body.data;
  expect(preview.total).toBe("77.58");
  billing.clock.set("2024-04-01T02:00:00Z");
  await company.run({ period: "2024-03" });
  const [record] = await company.records(id);
  const detail = (await api("GET", `/billing-records/${record.id}`)).body.data;
  expect(shown(detail)).toEqual([
    ["fee", null, null, "1", "31.00"],
    ["usage", null, null, "18", "0.00"],
    ["charge", "input", { model: "small" }, "4000000", "1.00"],
    ["charge", "input", null, "5406000", "16.22"],
    ["charge", "output", { model: "small" }, "2000000", "2.50"],
    ["charge", "output", null, "457000", "6.86"],
    ["charge", "users", null, "14", "20.00"],
  ]);
  expect(detail.totalCharges).toBe("77.58");
  expect((await api("GET", `/billing-records/${record.id}/verify`)).body.data).toMatchObject({
    matches: true,
    differences: [],
  });
  // Late usage adjusts its own line.
  await use("2024-03-09T00:00:00Z", { model: "small", output: 1_000_000 });
  await company.run({ period: "2024-03" });
  const adjusted = (await company.records(id))[1];
  const late = (await api("GET", `/billing-records/${adjusted?.id}`)).body.data;
  expect(shown(late)).toEqual([
    ["usage", null, null, "1", "0.00"],
    ["charge", "output", { model: "small" }, "1000000", "1.25"],
  ]);
  expect((await api("GET", `/billing-records/${adjusted?.id}/verify`)).body.data.matches).toBe(true);
  // An erasure leaves what the meters read, and with it every bill.
  const asked = { external_subscription_ids: [external_subscription_id] };
  expect((await api("POST", "/usage/erasures", asked)).status).toBe(202);
  await runNamedJob(billing.service, "usage_erasures");
  const kept_keys = ["cached", "input", "model", "output", "user"];
  expect((await api("GET", "/usage/erasures")).body.data).toMatchObject([{ erased: 19, kept_keys }]);
  const events = (await api("POST", "/usage/search", { ...asked, limit: 100 })).body.data;
  expect(JSON.stringify(events)).not.toContain("ada@");
  expect(events).toContainEqual(
    expect.objectContaining({ metadata: { erased: true, model: "small", output: 1_000_000 } }),
  );
  for (const { id: bill } of await company.records(id))
    expect((await api("GET", `/billing-records/${bill}/verify`)).body.data.matches).toBe(true);
  await company.run({ period: "2024-03" });
  expect(await company.records(id)).toHaveLength(2);
});

test("what usage and charges are short of a commitment is made up, and fees do not count", async () => {
  const company = await billing.addCompany({ currency: "EUR" });
  const { api } = company;
  billing.clock.set("2024-03-01T00:00:00Z");
  const commitment = { minimum: "100" };
  const id = await company.subscribe({ ...FLAT, charges: await tokenCharges(api), commitment });
  billing.clock.set("2024-03-31T12:00:00Z");
  await useTokens((await usageOf(api, id)).use);
  billing.clock.set("2024-04-01T02:00:00Z");
  await company.run({ period: "2024-03" });
  const [record] = await company.records(id);
  const detail = (await api("GET", `/billing-records/${record.id}`)).body.data;
  const charged = detail.lines.filter(({ kind }: Json) => kind === "charge");
  expect(sum(charged.map(({ amount }: Json) => amount))).toBe("46.58");
  expect(shown(detail)).toContainEqual(["commitment_true_up", null, null, "1", "53.42"]);
  expect(detail.totalCharges).toBe("131.00");
  expect((await api("GET", `/billing-records/${record.id}/verify`)).body.data.matches).toBe(true);
});

test("seats cost by how long each was there", async () => {
  const company = await billing.addCompany({ currency: "EUR" });
  const { api } = company;
  billing.clock.set("2024-04-01T00:00:00Z");
  const meter = {
    code: "seats",
    name: "Seats",
    aggregation: "weighted_sum",
    value: [{ key: "metadata:seats" }],
  };
  const meter_id = (await api("POST", "/meters", meter)).body.data.id;
  const charges = [{ code: "seats", name: "Seats", type: "per_unit", meter_id, price: "12" }];
  const id = await company.subscribe({ ...FLAT, price: 0, charges });
  const { use } = await usageOf(api, id);
  billing.clock.set("2024-05-01T02:00:00Z");
  await use("2024-04-01T00:00:00Z", { seats: 5 });
  await use("2024-04-16T00:00:00Z", { seats: 2 });
  await company.run({ period: "2024-04" });
  const [record] = await company.records(id);
  const detail = (await api("GET", `/billing-records/${record.id}`)).body.data;
  expect(shown(detail)).toContainEqual(["charge", "seats", null, "6", "72.00"]);
});
