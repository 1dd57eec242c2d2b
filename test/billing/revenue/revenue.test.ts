import { expect, test } from "bun:test";
import { multiply, roundMoney, sum } from "../../../src/core/money.ts";
import { dice, pick } from "../../support/dice.ts";
import type { Json } from "../../support/harness.ts";
import { type Company, FLAT, PER_UNIT, useBilling } from "../fixtures.ts";

const billing = useBilling();

const report = ({ api }: Pick<Company, "api">, query = "") => api("GET", `/revenue${query}`);

async function openShop() {
  billing.clock.set("2026-01-01T00:00:00Z");
  const company = await billing.addCompany();
  const { api, client_id } = company;
  const another = await company.addClient();
  const flat = await company.addModel({ ...FLAT, name: "Flat" });
  const yen = await company.addModel({ ...FLAT, name: "Yen", price: 500, currency: "JPY" });
  const first = await company.subscribe(flat);
  const second = await company.subscribe(PER_UNIT, { client_id: another });
  await company.subscribe(yen, { client_id: another });
  await company.use(second, ["2026-02-10T00:00:00Z", "7"]);
  billing.clock.set("2026-04-02T00:00:00Z");
  await company.run();
  // A late event of February: an adjustment, which counts with the month that it adjusts.
  await company.use(second, ["2026-02-11T00:00:00Z", "2"]);
  await company.run({ period: "2026-02" });
  return { company, api, client_id, another, flat, yen, first, second };
}

test("by month and currency, adjustments with the month that they adjust", async () => {
  const { company } = await openShop();
  const { data } = (await report(company)).body;
  expect([data.from, data.to, data.interval, data.buckets.length]).toEqual([
    "2025-05-01T00:00:00.000Z",
    "2026-05-01T00:00:00.000Z",
    "month",
    12,
  ]);
  const none = Array.from({ length: 8 }, () => "0.00");
  expect(data.totals).toEqual([
    // 31.00 a month, and 3.50 + 1.00 of February.
    { currency: "EUR", amount: "97.50", records: 7, amounts: [...none, "31.00", "35.50", "31.00", "0.00"] },
    {
      currency: "JPY",
      amount: "1500",
      records: 3,
      amounts: [...none.map(() => "0"), "500", "500", "500", "0"],
    },
  ]);
  expect([data.groups, data.rows]).toEqual([0, []]);
});

test("by client, product, model, subscription and kind, a page at a time", async () => {
  const { company, client_id, another, first, second, flat } = await openShop();
  const rows = async (group_by: string, more = "") =>
    (await report(company, `?group_by=${group_by}${more}`)).body.data.rows.map((row: Json) => [
      row.id,
      row.name,
      row.currency,
      row.amount,
    ]);
  expect(await rows("client")).toEqual([
    [client_id, "Client", "EUR", "93.00"],
    [another, "Another", "EUR", "4.50"],
    [another, "Another", "JPY", "1500"],
  ]);
  expect((await rows("product")).map((row: Json) => row.slice(1))).toEqual([
    ["Product", "EUR", "97.50"],
    ["Product", "JPY", "1500"],
  ]);
  expect((await rows("billing_model"))[0]).toEqual([flat, "Flat", "EUR", "93.00"]);
  expect((await rows("subscription")).slice(0, 2)).toEqual([
    [first, "Subscription", "EUR", "93.00"],
    [second, "Subscription", "EUR", "4.50"],
  ]);
  expect(await rows("kind")).toEqual([
    [null, "period", "EUR", "96.50"],
    [null, "adjustment", "EUR", "1.00"],
    [null, "period", "JPY", "1500"],
  ]);
  expect(await rows("client", "&limit=1&page=2")).toEqual([[another, "Another", "EUR", "4.50"]]);
  const { groups, totals } = (await report(company, "?group_by=client&limit=1")).body.data;
  expect([groups, totals[0].amount]).toEqual([3, "97.50"]);
});

test("ranges and intervals by the company's zone, half-open", async () => {
  billing.clock.set("2025-12-31T16:00:00Z");
  const company = await billing.addCompany({ timezone: "Asia/Kuala_Lumpur" });
  await company.subscribe(FLAT);
  billing.clock.set("2026-05-10T00:00:00Z");
  await company.run();
  const found = async (query: string) => {
    const { buckets, totals } = (await report(company, query)).body.data;
    return { buckets, amounts: totals.flatMap((row: Json) => row.amounts) };
  };
  // Local midnights: January begins at 16:00 UTC the day before.
  expect(await found("?month=2026-01")).toEqual({
    buckets: [{ from: "2025-12-31T16:00:00.000Z", to: "2026-01-31T16:00:00.000Z" }],
    amounts: ["31.00"],
  });
  expect((await found("?from=2026-01-01&to=2026-05-01&interval=quarter")).amounts).toEqual([
    "93.00",
    "31.00",
  ]);
  expect((await found("?relative=this_year&interval=year")).amounts).toEqual(["124.00"]);
  const days = await found("?from=2026-01-31&to=2026-02-03&interval=day");
  expect(days.amounts).toEqual(["0.00", "31.00", "0.00"]);
  const weeks = await found("?from=2026-01-28&to=2026-02-03&interval=week");
  expect([weeks.buckets[0].from, weeks.buckets[1].from, weeks.amounts]).toEqual([
    "2026-01-27T16:00:00.000Z",
    "2026-02-01T16:00:00.000Z",
    ["31.00", "0.00"],
  ]);
  // Not after the start, not before it.
  expect((await found("?from=2025-12-31T16:00:00.001Z&to=2026-01-31T16:00:00Z")).amounts).toEqual([]);
});

test("sums are exact, whatever the amounts", async () => {
  billing.clock.set("2026-01-01T00:00:00Z");
  const company = await billing.addCompany();
  const roll = dice(3);
  const prices = Array.from({ length: 6 }, () => pick(roll, ["0.01", "9999999999999.9", "123456789.01"]));
  const ids: number[] = [];
  for (const price of prices)
    ids.push(await company.subscribe({ ...PER_UNIT, price, recurring_fee: "0.07" }));
  for (const id of ids) await company.use(id, ["2026-01-05T00:00:00Z", "999999999"]);
  billing.clock.set("2026-02-02T00:00:00Z");
  await company.run();
  const wanted = sum(prices.flatMap((price) => [multiply(price, "999999999"), "0.07"]));
  const [total] = (await report(company, "?month=2026-01")).body.data.totals;
  expect(total.amount).toBe(roundMoney(wanted, "EUR"));
  // Beyond what a binary fraction holds.
  expect(total.amount.replace(".", "").length).toBeGreaterThan(17);
});

test("what is refused, and who reads it", async () => {
  const { company } = await openShop();
  for (const [query, path] of [
    ["?from=2026-02-01&to=2026-02-01", "/to"],
    ["?interval=hour", "/interval"],
    ["?group_by=colour", "/group_by"],
    ["?from=2020-01-01&to=2026-01-01&interval=day", "/interval"],
    ["?month=2026-01&from=2026-01-01", "/from"],
    ["?limit=0", "/limit"],
    ["?surprise=1", "/surprise"],
  ] as const) {
    const { status, body } = await report(company, query);
    expect([status, body.details?.[0].path], query).toEqual([422, path]);
  }
  const other = await billing.addCompany();
  expect((await report(other)).body.data.totals).toEqual([]);
  expect((await report({ api: await company.addUser("analyst") })).status).toBe(200);
  expect((await report({ api: await company.addUser("client", company.client_id) })).status).toBe(403);
});
