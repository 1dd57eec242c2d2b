import { expect } from "bun:test";
import { call } from "../../../src/app/operation.ts";
import { sum } from "../../../src/core/money.ts";
import { instant, iso } from "../../../src/core/time.ts";
import { proveBills } from "../../../src/billing/proof/service.ts";
import { recheckBilling } from "../../../src/billing/runs/service.ts";
import { type Dice, dice } from "../../support/dice.ts";
import type { Answer, Json } from "../../support/harness.ts";
import { changesOf, changeTo, applyDueChanges } from "../billing_model_changes/fixtures.ts";
import { previewAndSend } from "../previews/fixtures.ts";
import { type BillingFixture, type Company, CREDIT, FLAT, GRADUATED, PACKAGE, VOLUME } from "../fixtures.ts";

// Random histories of subscriptions in a company, and a twin of it that learns everything at the end and is billed
// once. Whatever was billed when, changed, voided, missed and made good, each period comes to the same.

const credit = (monthly_credits: number, price: number, given: Json = {}): Json => ({
  ...CREDIT,
  price,
  credit_plan: { ...CREDIT.credit_plan, monthly_credits, ...given },
});
const MODELS: readonly Json[] = [
  FLAT,
  { ...FLAT, price: 62.5 },
  {
    billing_type_id: 2,
    price: 0.35,
    recurring_fee: "9.99",
    free_units: "20",
    minimum_charge: "15",
    maximum_charge: "80",
  },
  { ...GRADUATED, charge_flat_on_zero: true },
  { ...VOLUME, price: 3 },
  { ...PACKAGE, recurring_fee: "4", free_units: "7" },
  credit(100, 31),
  credit(333, 62, { overage_rate: "0.015" }),
  credit(1000, 124),
  credit(40, 20, { credit_consumption: "per_api_call", overage_rate: "0.5" }),
  credit(200, 50, { overage_rate: null }),
];
const CREDIT_PLANS = [6, 7, 8, 10];
const ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kuala_Lumpur", "Pacific/Kiritimati"];

const BEGINNING = instant("2024-01-03T00:00:00Z");
const HOURS = 24 * 210;
const STEPS = 90;
const END = "2025-02-10T12:00:00Z";
const MONTHS = Array.from({ length: 15 }, (_, i) =>
  Temporal.PlainYearMonth.from("2023-11").add({ months: i }).toString(),
);

type Event = [at: string, units: string];

/** A subscription of the company and its twin. */
interface Pair {
  readonly id: number;
  readonly twin_id: number;
  readonly started_at: string;
  readonly events: Event[];
  /** Whether it was cancelled at the end of a period. */
  ends_with_period: boolean;
}

interface History {
  readonly billing: BillingFixture;
  readonly roll: Dice;
  readonly company: Company;
  readonly twin: Company;
  readonly models: readonly number[];
  readonly twin_models: readonly number[];
  readonly pairs: readonly Pair[];
  /** Whether late usage is billed when it comes: then changes alone must have adjusted all that they reach into. */
  readonly is_prompt: boolean;
  /** What was done, for whoever reads of a failure. */
  readonly log: string[];
}

const pick = <T>(roll: (n: number) => number, list: readonly T[]): T => {
  const one = list[roll(list.length)];
  if (one === undefined) throw new Error("Nothing to pick from");
  return one;
};

async function begin(billing: BillingFixture, seed: number, subscriptions: number): Promise<History> {
  const roll = dice(seed);
  const timezone = pick(roll, ZONES);
  billing.clock.set(iso(BEGINNING));
  const [company, twin] = [await billing.addCompany({ timezone }), await billing.addCompany({ timezone })];
  const models: number[] = [];
  const twin_models: number[] = [];
  for (const [i, model] of MODELS.entries()) {
    models.push(await company.addModel({ name: `Plan ${i}`, ...model }));
    twin_models.push(await twin.addModel({ name: `Plan ${i}`, ...model }));
  }
  const pairs: Pair[] = [];
  for (let i = 0; i < subscriptions; i++) {
    // Some start in the past, some in the future.
    const started_at = iso(BEGINNING.add({ minutes: 60 * (roll(24 * 140) - 24 * 40) + roll(60) }));
    const life = { started_at, billing_anchor_day: pick(roll, [1, 1, 15, 28, 31]) };
    const plan = roll(MODELS.length);
    const id = await company.subscribe(models[plan], life);
    const twin_id = await twin.subscribe(twin_models[plan], life);
    pairs.push({ id, twin_id, started_at, events: [], ends_with_period: false });
  }
  const is_prompt = roll(2) === 0;
  return { billing, roll, company, twin, models, twin_models, pairs, is_prompt, log: [`zone ${timezone}`] };
}

/** What may be answered to a request that its moment decides on. */
function settled({ status, body }: Answer, of: string): void {
  if (status !== 200 && status !== 404 && status !== 409 && status !== 422) {
    throw new Error(`${of}: ${status} ${JSON.stringify(body)}`);
  }
}

/** An instant within so many days of now. */
function around({ billing, roll }: History, days_before: number, days_after: number): string {
  const hours = roll((days_before + days_after) * 24) - days_before * 24;
  return iso(billing.clock.now().add({ minutes: 60 * hours + roll(60) }));
}

/** Bills the periods again that events may lie in. */
async function billMonthsOf({ company }: History, id: number, events: readonly Event[]): Promise<void> {
  const around_them = events.flatMap(([at]) =>
    [-1, 0, 1].map((months) => Temporal.PlainYearMonth.from(at.slice(0, 7)).add({ months }).toString()),
  );
  for (const period of new Set(around_them)) await company.run({ period, subscription_ids: [id] });
}

const actions: Record<string, (of: History, pair: Pair) => Promise<string>> = {
  async use(of, { id, events }) {
    const fresh = Array.from({ length: 1 + of.roll(4) }, (): Event => {
      const units = `${of.roll(3) === 0 ? "-" : ""}${of.roll(150)}.${of.roll(10)}`;
      return [around(of, 70, 0), units.replace(/^-0\.0$/, "0.0")];
    });
    events.push(...fresh);
    await of.company.use(id, ...fresh);
    if (of.is_prompt) await billMonthsOf(of, id, fresh);
    return fresh.flat().join(" ");
  },
  async change(of, { id }) {
    const [to, at] = [of.roll(MODELS.length), around(of, 50, 25)];
    const change = { new_billing_model_id: of.models[to] ?? 0, effective_at: at };
    const answer = await previewAndSend(of.company, id, "billing-model-changes", change);
    settled(answer, "change");
    return `to ${to} at ${at}: ${answer.status}`;
  },
  /** To another model and back on the same day, more or less. */
  async correct(of, { id }) {
    const [to, at] = [of.roll(MODELS.length), around(of, 20, 0)];
    const first = await changeTo(of.company.api, id, of.models[to] ?? 0, at);
    const back = first.body.data?.old_billing_model_id;
    if (first.status !== 200) return `${first.status}`;
    const later = iso(instant(at).add({ minutes: 1 + of.roll(200) }));
    const second = await changeTo(of.company.api, id, back, later);
    settled(second, "correct");
    return `to ${to} at ${at} and back at ${later}: ${second.status}`;
  },
  async turn(of, { id }) {
    const [way, to] = [pick(of.roll, ["upgrade", "downgrade"] as const), pick(of.roll, CREDIT_PLANS)];
    const answer = await previewAndSend(of.company, id, way, { new_billing_model_id: of.models[to] });
    settled(answer, way);
    return `${way} to ${to}: ${answer.status}`;
  },
  async takeBack(of, { id }) {
    const changes = await changesOf(of.company.api, id);
    if (changes.length === 0) return "nothing";
    const { id: change_id, status } = pick(of.roll, changes);
    const path = `/subscriptions/${id}/billing-model-changes/${change_id}`;
    const answer =
      status === "scheduled"
        ? await of.company.api("DELETE", path)
        : await of.company.api("POST", `${path}/void`, {});
    if (status === "applied") expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    settled(answer, "take back");
    return `${status} ${change_id}: ${answer.status}`;
  },
  async cancel(of, pair) {
    const { id, twin_id, started_at } = pair;
    // Most live long; those that have not begun are cancelled more often.
    if (of.roll(started_at > iso(of.billing.clock.now()) ? 2 : 6) > 0) return "not now";
    const at = pick(of.roll, ["now", "period_end"]);
    const answer = await previewAndSend(of.company, id, "cancel", { at });
    const same = await of.twin.api("POST", `/subscriptions/${twin_id}/cancel`, { at });
    expect(same.status).toBe(answer.status);
    if (answer.status === 200) pair.ends_with_period = at === "period_end";
    return `${at}: ${answer.status}`;
  },
  async zone(of) {
    const timezone = pick(of.roll, ZONES);
    for (const { api } of [of.company, of.twin]) {
      await api("PUT", "/company", { name: "C", timezone, currency: "EUR" });
    }
    return timezone;
  },
  async run(of) {
    const { counts } = await of.company.run();
    return JSON.stringify(counts);
  },
  async name(of, { id }) {
    const period = of.billing.clock.now().toString().slice(0, 7);
    const before = Temporal.PlainYearMonth.from(period)
      .subtract({ months: of.roll(3) })
      .toString();
    await of.company.run({ period: before, subscription_ids: [id] });
    return before;
  },
  async recheck({ billing, company }) {
    const actor = { kind: "system", company_id: company.company_id } as const;
    const ctx = billing.service.deps.openContext({ actor, origin: "job", request_id: "test", address: null });
    await call(ctx, recheckBilling, {});
    return "";
  },
  async apply({ billing }) {
    await applyDueChanges(billing.service);
    return "";
  },
};
/** How often each is done. */
const CHANCES = {
  use: 8,
  change: 5,
  correct: 2,
  turn: 4,
  takeBack: 3,
  cancel: 2,
  zone: 2,
  run: 3,
  name: 2,
  recheck: 1,
  apply: 3,
};
const DECK = Object.entries(CHANCES).flatMap(([name, times]) => Array.from({ length: times }, () => name));

async function live(of: History): Promise<void> {
  const { billing, roll, log } = of;
  const { zone, cancel, turn } = actions;
  // What is decided before a start is rare otherwise.
  for (const pair of of.pairs.filter(({ started_at }) => started_at > iso(BEGINNING))) {
    log.push(`${pair.id} before it starts: ${await pick(roll, [cancel, turn])?.(of, pair)}`);
    if (roll(3) === 0) log.push(`zone ${await zone?.(of, pair)}`);
  }
  let at = BEGINNING;
  for (let step = 0; step < STEPS; step++) {
    // Hours, or months in which nothing runs.
    const gap = roll(12) === 0 ? 24 * 40 : roll(Math.floor((2 * HOURS) / STEPS));
    at = at.add({ hours: gap, minutes: roll(60), milliseconds: roll(1000) });
    if (Temporal.Instant.compare(at, instant(END)) >= 0) return;
    billing.clock.set(iso(at));
    const pair = pick(roll, of.pairs);
    const name = pick(roll, DECK);
    const action = actions[name];
    if (!action) throw new Error(`There is no action ${name}`);
    log.push(`${iso(at)} ${pair.id} ${name} ${await action(of, pair)}`);
  }
}

/** Tells the twin all at once: the models that were in force, and what was used, in another order. */
async function tell({ company, twin, models, twin_models, pairs, log }: History): Promise<void> {
  for (const { id, twin_id, events } of pairs) {
    const { ends_at } = (await company.api("GET", `/subscriptions/${id}`)).body.data;
    expect((await twin.api("GET", `/subscriptions/${twin_id}`)).body.data.ends_at).toBe(ends_at);
    for (const { status, new_billing_model_id, effective_at } of await changesOf(company.api, id)) {
      if (status !== "applied" || (ends_at !== null && effective_at >= ends_at)) continue;
      const to = models.indexOf(new_billing_model_id);
      log.push(`${id} in the end: to ${to} at ${effective_at}`);
      const answer = await changeTo(twin.api, twin_id, twin_models[to] ?? 0, effective_at);
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    }
    if (events.length > 0) await twin.use(twin_id, ...events.toReversed());
  }
}

/** What each period of a subscription comes to: its record and adjustments together. */
async function sumsOf(company: Company, id: number): Promise<string[]> {
  const periods = Map.groupBy(
    await company.records(id),
    ({ billingStartAt, billingEndAt }: Json) => `${billingStartAt} ${billingEndAt}`,
  );
  return [...periods]
    .map(([period, records]) => {
      const charges = sum(records.map(({ totalCharges }: Json) => totalCharges));
      return `${period} ${charges} for ${sum(records.map(({ billedUnits }: Json) => String(billedUnits)))}`;
    })
    .toSorted();
}

/** Proves all bills of the company. */
async function prove({ billing, company }: History): Promise<void> {
  const origin = { actor: { kind: "operator" }, origin: "cli", request_id: "test", address: null } as const;
  const ctx = billing.service.deps.openContext(origin);
  const { bills, unproved } = await call(ctx, proveBills, { company_id: company.company_id });
  expect(bills).toBeGreaterThan(0);
  expect(unproved).toEqual([]);
}

/** Lives through the histories of some subscriptions of one company. Errors: where a period comes to another sum. */
export async function liveThrough(
  billing: BillingFixture,
  seed: number,
  subscriptions: number,
): Promise<void> {
  const history = await begin(billing, seed, subscriptions);
  const { company, twin, pairs, log } = history;
  try {
    await live(history);
    billing.clock.set(END);
    await applyDueChanges(billing.service);
    await prove(history);
    await tell(history);
    await twin.run();
    await company.run();
    for (const period of history.is_prompt ? [] : MONTHS) await company.run({ period });
    for (const { id, twin_id, ends_with_period } of pairs) {
      expect(await sumsOf(company, id), `subscription ${id}`).toEqual(await sumsOf(twin, twin_id));
      const { ends_at } = (await company.api("GET", `/subscriptions/${id}`)).body.data;
      if (!ends_with_period || ends_at > END) continue;
      const ends = (await company.records(id)).map(({ billingEndAt }: Json) => billingEndAt);
      expect(
        ends.reduce((a, b) => (a > b ? a : b)),
        `the last period of subscription ${id}`,
      ).toBe(ends_at);
    }
    for (const { id: subscription_id } of pairs) {
      for (const { id } of await company.records(subscription_id)) {
        const { body } = await company.api("GET", `/billing-records/${id}/verify`);
        expect(body.data.matches, `record ${id}: ${JSON.stringify(body.data)}`).toBeTrue();
      }
    }
    await prove(history);
  } catch (error) {
    throw new Error(`The history of seed ${seed} does not hold:\n${log.join("\n")}`, { cause: error });
  }
}
