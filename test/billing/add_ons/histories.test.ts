import { expect, test } from "bun:test";
import { sum } from "../../../src/core/money.ts";
import { instant, iso } from "../../../src/core/time.ts";
import type { Json } from "../../support/harness.ts";
import { type Dice, dice, pick } from "../../support/dice.ts";
import { FUZZ_SEED, fuzzRounds } from "../../support/properties.ts";
import { proveEveryBill } from "../../support/prove_bills.ts";
import { changesOf, changeTo } from "../billing_model_changes/fixtures.ts";
import { type Company, FLAT, PER_UNIT, useBilling } from "../fixtures.ts";

/** Few in every run; `FUZZ_ROUNDS=500 bun test --timeout 3600000 test/billing/add_ons/histories.test.ts` makes more. */
const ROUNDS = fuzzRounds(2);
const STEPS = 14;
const BEGUN = "2024-01-01T00:00:00Z";
const MONTHS = ["2024-01", "2024-02", "2024-03", "2024-04", "2024-05", "2024-06"];

const billing = useBilling();

/** A company with the same models and add-ons as its twin. */
async function addSeller(): Promise<{ company: Company; id: number; models: number[]; add_ons: number[] }> {
  const company = await billing.addCompany({ timezone: "Europe/Berlin" });
  const { api } = company;
  const models = [await company.addModel(FLAT), await company.addModel({ ...PER_UNIT, recurring_fee: "20" })];
  const meter = await api("POST", "/meters", { code: "units", name: "Units", aggregation: "sum" });
  const usage_tiers = [
    { up_to: "10", unit_price: "1", flat_fee: "3" },
    { up_to: null, unit_price: "0.333" },
  ];
  const charges = [
    { type: "fixed", price: "9.99" },
    { type: "graduated", meter_id: meter.body.data.id, usage_tiers },
  ];
  const add_ons: number[] = [];
  for (const [i, charge] of charges.entries()) {
    const body = { code: `add_on_${i}`, name: "Add-on", currency: "EUR", charge };
    add_ons.push((await api("POST", "/add-ons", body)).body.data.id);
  }
  return { company, models, add_ons, id: await company.subscribe(models[0] ?? 0, { started_at: BEGUN }) };
}

type Seller = Awaited<ReturnType<typeof addSeller>>;

/** An instant up to `days` after another, at a midnight, a quarter of an hour, or a second. */
function someInstant(roll: Dice, from: string, days: number): string {
  const second = roll(days * 86_400);
  const coarse = pick(roll, [86_400, 900, 1]);
  return iso(instant(from).add({ seconds: second - (second % coarse) }));
}

/** Does one thing to a subscription. What is refused does nothing. */
async function step(roll: Dice, { company, id, models, add_ons }: Seller, events: [string, string][]) {
  const { api } = company;
  const path = `/subscriptions/${id}/add-ons`;
  const from = someInstant(roll, BEGUN, 200);
  const until = roll(3) === 0 ? null : someInstant(roll, from, 60);
  const bookings: Json[] = (await api("GET", path)).body.data;
  const some = bookings.length > 0 ? pick(roll, bookings) : undefined;
  const at = `${path}/${some?.id ?? 0}`;
  const kind = roll(9);
  if (kind === 0) {
    const now = billing.clock.now().epochMilliseconds;
    const days = Math.floor((now - Date.parse(BEGUN)) / 86_400_000);
    const event: [string, string] = [someInstant(roll, BEGUN, days), String(roll(40) / 4)];
    events.push(event);
    await company.use(id, event);
  }
  if (kind === 1 || kind > 6) {
    const add_on_id = pick(roll, add_ons);
    const quantity = add_on_id === add_ons[0] ? 1 + roll(3) : 1;
    await api("POST", path, { add_on_id, quantity, from, until });
  }
  if ((kind === 2 || kind === 6) && some) {
    const change = pick(roll, [{ from, until }, { until }, { quantity: 1 + roll(3) }, { until: some.from }]);
    await api("PUT", at, change);
  }
  if (kind === 3 && some) await api("DELETE", at);
  if (kind === 4) await changeTo(api, id, pick(roll, models), from);
  if (kind === 5) await company.run();
}

/** What each line comes to, over all records of its period. */
async function netOf({ api, ...company }: Company, id: number, models: number[], add_ons: number[]) {
  const net = new Map<string, string[]>();
  for (const record of await company.records(id)) {
    for (const line of (await api("GET", `/billing-records/${record.id}`)).body.data.lines) {
      // Whatever plan is in force, an add-on's line stays.
      const model =
        line.kind === "add_on" ? add_ons.indexOf(line.add_on_id) : models.indexOf(line.billing_model_id);
      const days = line.proration?.numerator ?? "";
      const key = [record.billingStartAt, line.kind, model, line.from, line.to, days].join(" ");
      net.set(key, [...(net.get(key) ?? []), line.amount]);
    }
  }
  return [...net]
    .map(([key, amounts]) => `${key} ${sum(amounts)}`)
    .filter((text) => !text.endsWith(" 0"))
    .toSorted();
}

test("bookings that are learned in any order come to the same lines as those that were known at once", async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const roll = dice(FUZZ_SEED + round);
    billing.clock.set("2024-01-20T00:00:00Z");
    const [seller, twin] = [await addSeller(), await addSeller()];
    const events: [string, string][] = [];
    for (let i = 0; i < STEPS; i++) {
      billing.clock.set(iso(billing.clock.now().add({ seconds: roll(86_400 * 14) })));
      await step(roll, seller, events);
    }
    billing.clock.set("2024-08-03T00:00:00Z");
    for (const period of MONTHS) await seller.company.run({ period });

    const bookings = (await seller.company.api("GET", `/subscriptions/${seller.id}/add-ons`)).body.data;
    for (const { add_on_id, quantity, from, until } of bookings.toReversed()) {
      const add_on = twin.add_ons[seller.add_ons.indexOf(add_on_id)];
      const { status } = await twin.company.api("POST", `/subscriptions/${twin.id}/add-ons`, {
        add_on_id: add_on,
        quantity,
        from,
        until,
      });
      expect(status).toBe(201);
    }
    for (const change of await changesOf(seller.company.api, seller.id)) {
      const model = twin.models[seller.models.indexOf(change.new_billing_model_id)] ?? 0;
      if (change.status === "applied") await changeTo(twin.company.api, twin.id, model, change.effective_at);
    }
    await twin.company.use(twin.id, ...events);
    for (const period of MONTHS) await twin.company.run({ period });

    const of = (one: Seller) => netOf(one.company, one.id, one.models, one.add_ons);
    expect(await of(seller), `FUZZ_SEED=${FUZZ_SEED + round}`).toEqual(await of(twin));
  }
  expect((await proveEveryBill(billing.service.deps)).unproved).toEqual([]);
});
