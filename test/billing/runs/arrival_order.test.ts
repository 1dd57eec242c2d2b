import { beforeAll, expect, test } from "bun:test";
import * as fc from "fast-check";
import { sum } from "../../../src/core/money.ts";
import type { Json } from "../../support/harness.ts";
import { changeTo } from "../billing_model_changes/fixtures.ts";
import { type Company, CREDIT, FLAT, GRADUATED, PACKAGE, PER_UNIT, useBilling, VOLUME } from "../fixtures.ts";

// Two subscriptions learn the same facts. One is billed once, when all is known; the other's usage comes in another
// order, bit by bit, its change of plan in between, with a billing run after each. Together its records must say the
// same.

let company: Company;
let models: number[];

const LIMITED = {
  ...PER_UNIT,
  recurring_fee: "9.99",
  free_units: "3",
  minimum_charge: "12.345",
  maximum_charge: "50",
};

const billing = useBilling();

beforeAll(async () => {
  billing.clock.set("2024-04-02T00:00:00Z");
  company = await billing.addCompany({ timezone: "Asia/Kathmandu" });
  models = [];
  for (const model of [FLAT, LIMITED, GRADUATED, VOLUME, PACKAGE, CREDIT]) {
    models.push(await company.addModel(model));
  }
});

type Events = [at: string, units: string][];

const march = Temporal.Instant.from("2024-02-29T18:15:00Z");
const someTime = fc.nat(31 * 24 * 3600 - 1).map((seconds) => march.add({ seconds }).toString());
const someUnits = fc.integer({ min: -300, max: 900 }).map((tenths) => String(tenths / 10));
const someStory = fc.record({
  events: fc.array(fc.tuple(someTime, someUnits), { minLength: 1, maxLength: 8 }),
  /** Where each event comes in the second order. */
  places: fc.array(fc.nat(1000), { minLength: 8, maxLength: 8 }),
  first: fc.nat(5),
  change: fc.option(fc.record({ further: fc.integer({ min: 1, max: 5 }), at: someTime })),
  /** After how many events the change is told. */
  change_after: fc.nat(8),
});

let runs = 0;
/** Bills March, each time a second later, so that no run knows less than the one before. */
async function bill(id: number): Promise<void> {
  billing.clock.set(Temporal.Instant.from("2024-04-03T00:00:00Z").add({ seconds: ++runs }).toString());
  await company.run({ period: "2024-03", subscription_ids: [id] });
}

/** What a subscription's records of March say together: for each charge its amount, units and events. */
async function netOf(id: number): Promise<Json> {
  const details: Json[] = [];
  for (const record of await company.records(id)) {
    details.push((await company.api("GET", `/billing-records/${record.id}`)).body.data);
  }
  const charges = Map.groupBy(
    details.flatMap(({ lines }) => lines),
    ({ kind, billing_model_id, from, to, proration }: Json) =>
      [kind, billing_model_id, from, to, proration?.numerator].join(" "),
  );
  const lines = [...charges].map(([charge, group]): [string, string] => {
    const amount = sum(group.map((line: Json) => line.amount));
    const metered = group.filter((line: Json) => line.kind === "usage" || line.kind === "overage");
    const units = sum(metered.map((line: Json) => line.quantity));
    const events = group.reduce((all: number, line: Json) => all + (line.event_count ?? 0), 0);
    return [charge, `${amount} for ${units} in ${events}`];
  });
  return {
    total: sum(details.map(({ totalCharges }) => totalCharges)),
    charges: Object.fromEntries(lines.filter(([, said]) => said !== "0 for 0 in 0")),
  };
}

test("usage and a change of plan, learned in whatever order, bit by bit, cost what they cost at once", async () => {
  const property = fc.asyncProperty(someStory, async ({ events, places, first, change, change_after }) => {
    const since = { started_at: "2024-02-01T00:00:00Z" };
    const [at_once, by_bits] = [
      await company.subscribe(models[first], since),
      await company.subscribe(models[first], since),
    ];
    const turnTo = async (id: number): Promise<void> => {
      if (!change) return;
      const model = models[(first + change.further) % models.length] ?? 0;
      const { status, body } = await changeTo(company.api, id, model, change.at);
      expect(status, JSON.stringify(body)).toBe(200);
    };
    await turnTo(at_once);
    await company.use(at_once, ...(events as Events));
    await bill(at_once);

    const shuffled = events
      .map((event, i) => ({ event, place: places[i] ?? 0 }))
      .toSorted((a, b) => a.place - b.place)
      .map(({ event }) => event);
    for (const [told, event] of shuffled.entries()) {
      if (told === change_after % events.length) await turnTo(by_bits);
      await company.use(by_bits, event);
      await bill(by_bits);
    }
    expect(await netOf(by_bits)).toEqual(await netOf(at_once));
  });
  await fc.assert(property, { numRuns: 8 });
});
