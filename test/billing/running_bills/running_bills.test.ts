import { expect, test } from "bun:test";
import { roundMoney, sum } from "../../../src/core/money.ts";
import { dice, pick } from "../../support/dice.ts";
import type { Json } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { FUZZ_SEED, TESTS_ALL } from "../../support/properties.ts";
import { changeTo } from "../billing_model_changes/fixtures.ts";
import { type Company, CREDIT, FLAT, GRADUATED, PER_UNIT, useBilling } from "../fixtures.ts";

const billing = useBilling();

const keep = () => runNamedJob(billing.service, "running_bills");
const running = async ({ api }: Pick<Company, "api">, query = ""): Promise<Json> => {
  const { status, body } = await api("GET", `/running-bills${query}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.data;
};

test("kept by a job where usage came, by client, product and subscription", async () => {
  billing.clock.set("2026-03-10T00:00:00Z");
  const company = await billing.addCompany();
  const another = await company.addClient();
  const flat = await company.subscribe({ ...FLAT, price: 62 }, { started_at: "2026-03-01T00:00:00Z" });
  const units = await company.subscribe(PER_UNIT, { client_id: another });
  const yen = await company.subscribe({ ...FLAT, price: 500, currency: "JPY" }, { client_id: another });
  await company.subscribe(FLAT, { started_at: "2026-05-01T00:00:00Z" });
  expect(await running(company)).toEqual({ as_of: null, pending: 3, totals: [], groups: 0, rows: [] });
  await keep();
  const yen_now = (await company.api("GET", `/subscriptions/${yen}/preview`)).body.data.total;
  expect(await running(company)).toEqual({
    as_of: "2026-03-10T00:00:00.000Z",
    pending: 0,
    totals: [
      { currency: "EUR", amount: "62.00", subscriptions: 2 },
      { currency: "JPY", amount: yen_now, subscriptions: 1 },
    ],
    groups: 3,
    rows: [
      { id: company.client_id, name: "Client", currency: "EUR", amount: "62.00", subscriptions: 1 },
      { id: another, name: "Another", currency: "EUR", amount: "0.00", subscriptions: 1 },
      { id: another, name: "Another", currency: "JPY", amount: yen_now, subscriptions: 1 },
    ],
  });
  // Usage came for one of them; all are as of the next run.
  billing.clock.set("2026-03-10T00:10:00Z");
  await company.use(units, ["2026-03-10T00:05:00Z", "7"]);
  expect((await running(company)).totals[0].amount).toBe("62.00");
  await keep();
  const by_subscription = await running(company, "?group_by=subscription&limit=2");
  expect([by_subscription.as_of, by_subscription.totals[0].amount]).toEqual([
    "2026-03-10T00:10:00.000Z",
    "65.50",
  ]);
  expect(by_subscription.rows.map(({ id, amount }: Json) => [id, amount])).toEqual([
    [flat, "62.00"],
    [units, "3.50"],
  ]);
  expect((await running(company, "?group_by=product")).rows.map(({ amount }: Json) => amount)).toEqual([
    "65.50",
    yen_now,
  ]);
});

test("changes, ends and new periods are rated anew; what is over counts no more", async () => {
  billing.clock.set("2026-03-10T00:00:00Z");
  const company = await billing.addCompany();
  const start = { started_at: "2026-03-01T00:00:00Z" };
  const [first, second] = [await company.subscribe(FLAT, start), await company.subscribe(FLAT, start)];
  const double = await company.addModel({ ...FLAT, price: 62 });
  await keep();
  billing.clock.set("2026-03-10T01:00:00Z");
  expect((await changeTo(company.api, first, double, "2026-03-01T00:00:00.001Z")).status).toBe(200);
  await keep();
  expect((await running(company)).totals[0].amount).toBe("93.00");
  billing.clock.set("2026-03-11T00:00:00Z");
  expect((await company.api("POST", `/subscriptions/${second}/cancel`, { at: "now" })).status).toBe(200);
  expect((await running(company)).totals).toEqual([{ currency: "EUR", amount: "62.00", subscriptions: 1 }]);
  // The next month has begun, and nothing of it was rated yet.
  billing.clock.set("2026-04-01T00:00:00Z");
  expect(await running(company)).toMatchObject({ as_of: null, pending: 1, totals: [] });
  await keep();
  expect(await running(company)).toMatchObject({
    pending: 0,
    totals: [{ amount: "62.00", subscriptions: 1 }],
  });
});

/** How many subscriptions have a random month, and how often it is looked at. */
const [SUBSCRIPTIONS, LOOKS] = TESTS_ALL ? [12, 8] : [6, 4];

test("random months: the sums are those of the previews of all subscriptions", async () => {
  const roll = dice(FUZZ_SEED);
  billing.clock.set("2026-03-01T00:00:00Z");
  const company = await billing.addCompany({ timezone: "Europe/Berlin" });
  const ids: number[] = [];
  for (let i = 0; i < SUBSCRIPTIONS; i++) {
    const life = { started_at: "2026-02-01T00:00:00Z", billing_anchor_day: pick(roll, [1, 15, 31]) };
    ids.push(await company.subscribe(pick(roll, [FLAT, PER_UNIT, GRADUATED, CREDIT]), life));
  }
  for (let step = 1; step <= LOOKS; step++) {
    billing.clock.set(`2026-03-${String(step * 3).padStart(2, "0")}T0${roll(10)}:00:00Z`);
    for (let i = 0; i < 4; i++)
      await company.use(pick(roll, ids), [`2026-03-0${1 + roll(step)}T00:00:00Z`, `${roll(90)}`]);
    await keep();
    const previews: string[] = [];
    for (const id of ids)
      previews.push((await company.api("GET", `/subscriptions/${id}/preview`)).body.data.total);
    const { totals, as_of, pending } = await running(company);
    expect(totals).toEqual([
      { currency: "EUR", amount: roundMoney(sum(previews), "EUR"), subscriptions: SUBSCRIPTIONS },
    ]);
    expect([as_of, pending]).toEqual([billing.clock.now().toString({ smallestUnit: "millisecond" }), 0]);
  }
});

test("refusals, roles and other companies", async () => {
  billing.clock.set("2026-03-10T00:00:00Z");
  const company = await billing.addCompany();
  await company.subscribe(FLAT);
  await keep();
  const { status, body } = await company.api("GET", "/running-bills?group_by=colour");
  expect([status, body.details?.[0].path]).toEqual([422, "/group_by"]);
  expect((await running(await billing.addCompany())).totals).toEqual([]);
  expect((await running({ api: await company.addUser("analyst") })).groups).toBe(1);
  const client = await company.addUser("client", company.client_id);
  expect((await client("GET", "/running-bills")).status).toBe(403);
});
