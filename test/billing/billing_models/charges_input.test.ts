import { describe, expect, test } from "bun:test";
import type { Json } from "../../support/harness.ts";
import { ms } from "../../usage/fixtures.ts";
import { type Company, FLAT, PER_UNIT, useBilling } from "../fixtures.ts";

// What POST /meters and /billing-models refuse of meters and charges, and what hostile input does to those accepted.

const billing = useBilling();
const NOW = "2024-03-10T00:00:00Z";

let shared: Promise<{ company: Company; meter: number }> | undefined;
/** A company with a meter that has the group keys model and region. */
const companyWithMeter = () => (shared ??= addCompanyWithMeter());

async function addCompanyWithMeter() {
  billing.clock.set(NOW);
  const company = await billing.addCompany({ currency: "EUR" });
  return { company, meter: await addMeter(company) };
}

let codes = 0;
const aMeter = (more: Json = {}) => ({
  code: `meter_${++codes}`,
  name: "Tokens",
  aggregation: "sum",
  group_keys: ["model", "region"],
  ...more,
});

async function addMeter({ api }: Company, more: Json = {}): Promise<number> {
  const { status, body } = await api("POST", "/meters", aMeter(more));
  expect([status, body.error]).toEqual([201, undefined]);
  return body.data.id;
}

const aModel = (more: Json = {}) => ({ name: "Plan", description: "", currency: "EUR", ...FLAT, ...more });
const TIERS = [{ up_to: null, unit_price: "1" }];

describe("refused with the field's name", () => {
  test.each<[string, Json, string]>([
    ["sum without a term", { value: [] }, "/value"],
    [
      "unique with two",
      { aggregation: "unique", value: [{ key: "metadata:a" }, { key: "metadata:b" }] },
      "/value",
    ],
    ["percentile 0", { aggregation: "percentile", percentile: "0" }, "/percentile"],
    ["4 group_keys", { group_keys: ["a", "b", "c", "d"] }, "/group_keys"],
    ["a factor of 1e999", { value: [{ key: "usage", times: "1e999" }] }, "/value/0/times"],
    ["a factor of 400 digits", { value: [{ key: "usage", times: "9".repeat(400) }] }, "/value/0/times"],
    ["a code of the prototype", { code: "__proto__" }, "/code"],
  ])("a meter: %s", async (_, change, path) => {
    const { company } = await companyWithMeter();
    const { status, body } = await company.api("POST", "/meters", aMeter(change));
    expect([status, body.details?.[0].path]).toEqual([422, path]);
  });

  type Change = (of: { meter: number; charge: (more?: Json) => Json }) => Json;
  test.each<[string, Change, string]>([
    [
      "21 charges",
      ({ charge }) => ({ charges: Array.from({ length: 21 }, (_, i) => charge({ code: `c${i}` })) }),
      "/charges",
    ],
    [
      "thousands of charges",
      ({ charge }) => ({ charges: Array.from({ length: 5_000 }, (_, i) => charge({ code: `c${i}` })) }),
      "/charges",
    ],
    ["a code twice", ({ charge }) => ({ charges: [charge(), charge()] }), "/charges/1/code"],
    [
      "equal matches",
      ({ charge }) => ({
        charges: [
          charge({
            prices: [
              { match: { model: "a", region: "b" }, price: "1" },
              { match: { region: "b", model: "a" }, price: "2" },
            ],
          }),
        ],
      }),
      "/charges/0/prices/1/match",
    ],
    [
      "a match on no group_key",
      ({ charge }) => ({ charges: [charge({ prices: [{ match: { user: "a" }, price: "1" }] })] }),
      "/charges/0/prices/0/match",
    ],
    [
      "a match on nothing",
      ({ charge }) => ({ charges: [charge({ prices: [{ match: {}, price: "1" }] })] }),
      "/charges/0/prices/0/match",
    ],
    [
      "101 prices",
      ({ charge }) => ({
        charges: [
          charge({
            prices: Array.from({ length: 101 }, (_, i) => ({ match: { model: `${i}` }, price: "1" })),
          }),
        ],
      }),
      "/charges/0/prices",
    ],
    [
      "a match that is no text",
      ({ charge }) => ({ charges: [charge({ prices: [{ match: { model: 5 }, price: "1" }] })] }),
      "/charges/0/prices/0/match/model",
    ],
    [
      "a match that is no text, of a key on two lines",
      ({ charge }) => ({ charges: [charge({ prices: [{ match: { "a\nb": { c: 5 } }, price: "1" }] })] }),
      "/charges/0/prices/0/match/a\nb",
    ],
    [
      "a match that no database holds",
      ({ charge }) => ({ charges: [charge({ prices: [{ match: { model: "a\u0000" }, price: "1" }] })] }),
      "/charges/0/prices/0/match/model",
    ],
    [
      "a match of an endless key",
      ({ charge }) => ({
        charges: [charge({ prices: [{ match: { ["k".repeat(201)]: "a" }, price: "1" }] })],
      }),
      `/charges/0/prices/0/match/${"k".repeat(201)}`,
    ],
    [
      "a match of the prototype",
      ({ meter }) =>
        JSON.parse(`{"charges":[{"code":"c","name":"C","type":"per_unit","meter_id":${meter},"price":"1",
          "prices":[{"match":{"__proto__":"x"},"price":"1"}]}]}`),
      "/charges/0/prices/0/match",
    ],
    ["minimum above maximum", () => ({ commitment: { minimum: "2", maximum: "1" } }), "/commitment/minimum"],
    ["a commitment to nothing", () => ({ commitment: {} }), "/commitment"],
    [
      "a commitment to a quarter",
      () => ({ commitment: { minimum: "1", interval: "quarter" } }),
      "/commitment/interval",
    ],
    ["a minimum below zero", () => ({ commitment: { minimum: "-1" } }), "/commitment/minimum"],
    ["no meter", ({ charge }) => ({ charges: [charge({ meter_id: null })] }), "/charges/0/meter_id"],
    [
      "a meter of a fixed charge",
      ({ charge }) => ({ charges: [charge({ type: "fixed" })] }),
      "/charges/0/meter_id",
    ],
    [
      "an unknown meter",
      ({ charge }) => ({ charges: [charge({ meter_id: 999_999 })] }),
      "/charges/0/meter_id",
    ],
    ["an unknown meter of the own type", () => ({ ...PER_UNIT, meter_id: 999_999 }), "/meter_id"],
    ["a meter of a flat model", ({ meter }) => ({ meter_id: meter }), "/meter_id"],
    ["per 0", ({ charge }) => ({ charges: [charge({ per: "0" })] }), "/charges/0/per"],
    ["a price of 1e999", ({ charge }) => ({ charges: [charge({ price: "1e999" })] }), "/charges/0/price"],
    [
      "a price of 19 digits",
      ({ charge }) => ({ charges: [charge({ price: "9".repeat(19) })] }),
      "/charges/0/price",
    ],
    ["a price below zero", ({ charge }) => ({ charges: [charge({ price: "-1" })] }), "/charges/0/price"],
    [
      "tiers of a price per unit",
      ({ charge }) => ({ charges: [charge({ usage_tiers: TIERS })] }),
      "/charges/0/usage_tiers",
    ],
    [
      "a price without the tiers of its type",
      ({ charge }) => ({
        charges: [
          charge({ type: "volume", price: "0", usage_tiers: TIERS, prices: [{ match: { model: "a" } }] }),
        ],
      }),
      "/charges/0/prices/0/usage_tiers",
    ],
    ["a field that is none", ({ charge }) => ({ charges: [charge({ prise: "1" })] }), "/charges/0/prise"],
  ])("a billing model: %s", async (_, change, path) => {
    const { company, meter } = await companyWithMeter();
    const charge = (more: Json = {}) => ({
      code: "c",
      name: "C",
      type: "per_unit",
      meter_id: meter,
      price: "1",
      ...more,
    });
    const { status, body } = await company.api("POST", "/billing-models", aModel(change({ meter, charge })));
    expect([status, body.details?.[0].path]).toEqual([422, path]);
  });

  test("a number that JSON itself makes infinite", async () => {
    const { company, meter } = await companyWithMeter();
    const charge = `{"code":"c","name":"C","type":"per_unit","meter_id":${meter},"price":1e999}`;
    const text = JSON.stringify(aModel()).replace(/\}$/, `,"charges":[${charge}]}`);
    const { status, body } = await company.api("POST", "/billing-models", text);
    expect([status, typeof body.error]).toEqual([422, "string"]);
  });
});

describe("in use", () => {
  test("a used charge or meter is not changed, and a used meter not deleted", async () => {
    billing.clock.set(NOW);
    const company = await billing.addCompany({ currency: "EUR" });
    const { api } = company;
    const [in_charge, in_own] = [await addMeter(company), await addMeter(company)];
    const charges = [{ code: "c", name: "C", type: "per_unit", meter_id: in_charge, price: "1" }];
    const model = await company.addModel({ ...PER_UNIT, meter_id: in_own, charges });
    const put = (more: Json) =>
      api("PUT", `/billing-models/${model}`, { name: "Plan", description: "", ...more });
    // Named, and not used yet: all but deleting.
    expect((await put({ charges: [{ ...charges[0], price: "2" }] })).status).toBe(200);
    expect((await put({ charges })).status).toBe(200);
    for (const id of [in_charge, in_own])
      expect((await api("PUT", `/meters/${id}`, { name: "x", aggregation: "max" })).status).toBe(200);
    expect((await api("DELETE", `/meters/${in_charge}`)).status).toBe(409);
    await company.subscribe(model);
    for (const change of [
      { charges: [{ ...charges[0], price: "2" }] },
      { charges: [] },
      { charges: [{ ...charges[0], name: "Other" }] },
      { meter_id: null },
      { commitment: { minimum: "1" } },
    ])
      expect((await put(change)).status, JSON.stringify(change)).toBe(409);
    expect((await put({ charges, meter_id: in_own })).status).toBe(200);
    for (const id of [in_charge, in_own]) {
      for (const change of [
        { aggregation: "sum" },
        { code: "another" },
        { group_keys: ["model"] },
        { filters: [{ key: "a", op: "exists" }] },
        { value: [{ key: "metadata:x" }] },
      ])
        expect((await api("PUT", `/meters/${id}`, { name: "x", ...change })).status).toBe(409);
      expect((await api("PUT", `/meters/${id}`, { name: "Renamed", description: "now" })).status).toBe(200);
      expect((await api("DELETE", `/meters/${id}`)).status).toBe(409);
    }
  });

  test("a group key that a match names stays while the model does", async () => {
    const { company, meter: _ } = await companyWithMeter();
    const { api } = company;
    const meter = await addMeter(company);
    const prices = [{ match: { model: "a" }, price: "1" }];
    await company.addModel({
      ...FLAT,
      charges: [{ code: "c", name: "C", type: "per_unit", meter_id: meter, prices }],
    });
    const { status, body } = await api("PUT", `/meters/${meter}`, { name: "x", group_keys: ["region"] });
    expect([status, body.error]).toEqual([409, expect.stringContaining("model")]);
    expect((await api("PUT", `/meters/${meter}`, { name: "x", group_keys: ["model"] })).status).toBe(200);
  });
});

test("another company's meter is unknown: 422 in a body, 404 in a path, and its code is free", async () => {
  billing.clock.set(NOW);
  const [mine, other] = [await billing.addCompany(), await billing.addCompany()];
  const code = `shared_${++codes}`;
  const [meter, theirs] = [await addMeter(mine, { code }), await addMeter(other, { code })];
  const charge = { code: "c", name: "C", type: "per_unit", price: "1" };
  for (const [body, path] of [
    [aModel({ charges: [{ ...charge, meter_id: theirs }] }), "/charges/0/meter_id"],
    [aModel({ ...PER_UNIT, meter_id: theirs }), "/meter_id"],
  ] as const) {
    const { status, body: answer } = await mine.api("POST", "/billing-models", body);
    expect([status, answer.details[0].path]).toEqual([422, path]);
  }
  const model = await mine.addModel({ ...FLAT, charges: [{ ...charge, meter_id: meter }] });
  const changed = { name: "Plan", description: "", charges: [{ ...charge, meter_id: theirs }] };
  expect((await mine.api("PUT", `/billing-models/${model}`, changed)).status).toBe(422);
  for (const method of ["GET", "PUT", "DELETE"])
    expect(
      (await mine.api(method, `/meters/${theirs}`, method === "PUT" ? { name: "x" } : undefined)).status,
    ).toBe(404);
  // Deleting theirs does not ask for mine, which is named.
  expect((await other.api("DELETE", `/meters/${theirs}`)).status).toBe(200);
});

describe("what looks hostile and is allowed", () => {
  /** Subscribes to a model, uses it in February, bills it, and returns the record's lines and proof. */
  async function billed(company: Company, model: Json, events: Json[]): Promise<Json> {
    const { api } = company;
    billing.clock.set("2024-02-01T00:00:00Z");
    const id = await company.subscribe(model);
    const { external_subscription_id } = (await api("GET", `/subscriptions/${id}`)).body.data;
    billing.clock.set("2024-02-20T00:00:00Z");
    const sent = events.map((event) => ({
      external_subscription_id,
      timestamp: ms("2024-02-10T00:00:00Z"),
      usage: 1,
      ...event,
    }));
    // As text: a key of the prototype is a key.
    const { status, body } = await api("POST", "/usage/events", JSON.stringify(sent));
    expect([status, body.error]).toEqual([201, undefined]);
    billing.clock.set(NOW);
    await company.run({ period: "2024-02" });
    const [{ id: record_id }] = (await company.records(id)) as [Json];
    const record = (await api("GET", `/billing-records/${record_id}`)).body.data;
    const proof = (await api("GET", `/billing-records/${record_id}/verify`)).body.data;
    expect([proof.matches, proof.differences]).toEqual([true, []]);
    expect((await api("GET", `/billing-records/${record_id}/invoice`)).status).toBe(200);
    return record;
  }

  test("keys of the prototype, lines in keys, and texts that look like numbers are only texts", async () => {
    const company = await billing.addCompany({ currency: "EUR" });
    const keys = ["__proto__", "constructor", "a\nb"];
    const meter_id = await addMeter(company, { aggregation: "count", group_keys: keys });
    const prices: Json[] = keys.map((key, i) => ({
      match: JSON.parse(`{${JSON.stringify(key)}:"<b>"}`),
      price: `${i + 1}`,
    }));
    const charge = { code: "constructor", name: "C", type: "per_unit", meter_id, price: "100", prices };
    const found = (await company.api("GET", `/meters/${meter_id}`)).body.data;
    expect(found.group_keys).toEqual(keys);
    const metadata: Json[] = keys.map((key) => JSON.parse(`{"metadata":{${JSON.stringify(key)}:"<b>"}}`));
    const { lines, totalCharges } = await billed(company, { ...FLAT, charges: [charge] }, metadata);
    const of_charge = lines.filter(({ kind }: Json) => kind === "charge");
    expect(of_charge.map(({ match, amount }: Json) => [JSON.stringify(match), amount])).toEqual(
      prices.map(({ match }, i) => [JSON.stringify(match), `${i + 1}.00`]),
    );
    expect(totalCharges).toBe("37.00");
  });

  test("names that look like what bills write themselves are verified", async () => {
    const company = await billing.addCompany({ currency: "EUR" });
    const meter_id = await addMeter(company, { value: [{ key: "usage" }] });
    const charges = ["Tokens, continued", "Reversal: tokens"].map((name, i) => ({
      code: `c${i}`,
      name,
      type: "per_unit",
      meter_id,
      price: "2",
    }));
    for (const name of ["Reversal", "Reversal: it", "Adjustment: it", "Plan, continued"]) {
      const { totalCharges } = await billed(company, { ...PER_UNIT, name, charges }, [{ usage: 3 }]);
      expect(totalCharges, name).toBe("13.50");
    }
  });

  test("the largest prices of the largest usage are exact", async () => {
    const company = await billing.addCompany({ currency: "EUR" });
    const meter_id = await addMeter(company, { value: [{ key: "usage", times: "999999.999999" }] });
    const charge = {
      code: "c",
      name: "C",
      type: "per_unit",
      meter_id,
      price: "999999999999999999.999999999999",
      per: "0.000000000001",
    };
    const { totalCharges } = await billed(company, { ...FLAT, charges: [charge] }, [
      { usage: 999_999.999999 },
    ]);
    const units = 999_999_999_998n; // 999999.999999² is 999999999998.000000000001, to six decimals
    const exact = units * 999_999_999_999_999_999_999_999_999_999n * 100n;
    expect(BigInt(totalCharges.replace(".", ""))).toBe(exact + 3_100n);
  });
});
