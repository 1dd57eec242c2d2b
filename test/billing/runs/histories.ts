import { expect } from "bun:test";
import { call } from "../../../src/app/operation.ts";
import { sum } from "../../../src/core/money.ts";
import { instant, iso } from "../../../src/core/time.ts";
import { proveBills } from "../../../src/billing/proof/service.ts";
import { recheckBilling } from "../../../src/billing/runs/service.ts";
import { carryOnSimulations } from "../../../src/billing/simulations/run.ts";
import { type Dice, dice } from "../../support/dice.ts";
import type { Answer, Json } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { changesOf, changeTo, applyDueChanges } from "../billing_model_changes/fixtures.ts";
import { TESTS_ALL } from "../../support/properties.ts";
import { previewAndSend } from "../previews/fixtures.ts";
import { type Assortment, PLAIN, stock } from "./assortments.ts";
import type { BillingFixture, Company } from "../fixtures.ts";

// Random histories of subscriptions in a company, and a twin of it that learns everything at the end and is billed
// once. Whatever was billed when, changed, voided, missed and made good, each period comes to the same.

const ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kuala_Lumpur", "Pacific/Kiritimati"];

const BEGINNING = instant("2024-01-03T00:00:00Z");
const HOURS = 24 * 210;
/** How much is done with a company, in whatever length of time. */
const STEPS = TESTS_ALL ? 90 : 45;
const END = "2025-02-10T12:00:00Z";
const MONTHS = Array.from({ length: 15 }, (_, i) =>
  Temporal.PlainYearMonth.from("2023-11").add({ months: i }).toString(),
);

type Event = [at: string, units: string, metadata: Json];

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
  readonly assortment: Assortment;
  readonly models: readonly number[];
  readonly twin_models: readonly number[];
  readonly add_ons: readonly number[];
  readonly twin_add_ons: readonly number[];
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

async function begin(
  billing: BillingFixture,
  seed: number,
  subscriptions: number,
  assortment: Assortment,
): Promise<History> {
  const roll = dice(seed);
  const timezone = pick(roll, ZONES);
  billing.clock.set(iso(BEGINNING));
  const [company, twin] = [await billing.addCompany({ timezone }), await billing.addCompany({ timezone })];
  const { models, add_ons } = await stock(company, assortment);
  const { models: twin_models, add_ons: twin_add_ons } = await stock(twin, assortment);
  const pairs: Pair[] = [];
  for (let i = 0; i < subscriptions; i++) {
    // Some start in the past, some in the future.
    const started_at = iso(BEGINNING.add({ minutes: 60 * (roll(24 * 140) - 24 * 40) + roll(60) }));
    const life = { started_at, billing_anchor_day: pick(roll, [1, 1, 15, 28, 31]) };
    const plan = roll(models.length);
    const id = await company.subscribe(models[plan], life);
    const twin_id = await twin.subscribe(twin_models[plan], life);
    pairs.push({ id, twin_id, started_at, events: [], ends_with_period: false });
  }
  const is_prompt = roll(2) === 0;
  const log = [`zone ${timezone}`];
  const sold = { assortment, models, twin_models, add_ons, twin_add_ons };
  return { billing, roll, company, twin, ...sold, pairs, is_prompt, log };
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

/** What meters read of an event, most of the time. */
const metadataOf = (roll: Dice): Json => ({
  model: pick(roll, ["small", "large", "other"]),
  user: `u${roll(9)}`,
  ...(roll(4) === 0 ? {} : { level: roll(12) - 3 }),
});

const actions: Record<string, (of: History, pair: Pair) => Promise<string>> = {
  async use(of, { id, events }) {
    const fresh = Array.from({ length: 1 + of.roll(4) }, (): Event => {
      const units = `${of.roll(3) === 0 ? "-" : ""}${of.roll(150)}.${of.roll(10)}`;
      return [around(of, 70, 0), units.replace(/^-0\.0$/, "0.0"), metadataOf(of.roll)];
    });
    events.push(...fresh);
    await of.company.use(id, ...fresh);
    if (of.is_prompt) await billMonthsOf(of, id, fresh);
    return JSON.stringify(fresh);
  },
  async change(of, { id }) {
    const [to, at] = [of.roll(of.models.length), around(of, 50, 25)];
    const change = { new_billing_model_id: of.models[to] ?? 0, effective_at: at };
    const answer = await previewAndSend(of.company, id, "billing-model-changes", change);
    settled(answer, "change");
    return `to ${to} at ${at}: ${answer.status}`;
  },
  /** To another model and back on the same day, more or less. */
  async correct(of, { id }) {
    const [to, at] = [of.roll(of.models.length), around(of, 20, 0)];
    const first = await changeTo(of.company.api, id, of.models[to] ?? 0, at);
    const back = first.body.data?.old_billing_model_id;
    if (first.status !== 200) return `${first.status}`;
    const later = iso(instant(at).add({ minutes: 1 + of.roll(200) }));
    const second = await changeTo(of.company.api, id, back, later);
    settled(second, "correct");
    return `to ${to} at ${at} and back at ${later}: ${second.status}`;
  },
  async turn(of, { id }) {
    const [way, to] = [
      pick(of.roll, ["upgrade", "downgrade"] as const),
      pick(of.roll, of.assortment.credit_plans),
    ];
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
  async book(of, { id }) {
    const [add_on_id, from] = [pick(of.roll, of.add_ons), around(of, 50, 25)];
    const until = of.roll(2) === 0 ? null : iso(instant(from).add({ minutes: 1 + of.roll(60 * 24 * 50) }));
    const booking = { add_on_id, quantity: 1 + of.roll(3), from, until };
    const answer = await of.company.api("POST", `/subscriptions/${id}/add-ons`, booking);
    if (answer.status !== 201) settled(answer, "book");
    return `${JSON.stringify(booking)}: ${answer.status}`;
  },
  async rebook(of, { id }) {
    const bookings = (await of.company.api("GET", `/subscriptions/${id}/add-ons`)).body.data;
    if (bookings.length === 0) return "nothing";
    const { id: booking_id, from } = pick<Json>(of.roll, bookings);
    const path = `/subscriptions/${id}/add-ons/${booking_id}`;
    const change = {
      quantity: 1 + of.roll(3),
      until: iso(instant(from).add({ hours: 1 + of.roll(24 * 90) })),
    };
    const answer =
      of.roll(3) === 0 ? await of.company.api("DELETE", path) : await of.company.api("PUT", path, change);
    settled(answer, "rebook");
    return `${booking_id}: ${answer.status}`;
  },
  /** From when on usage of running periods is billed: of the company alone. */
  async interim(of) {
    const interim_at = pick(of.roll, [null, "0.01", "20", "200"]);
    const { api, client_id } = of.company;
    const saved = await api("PUT", `/clients/${client_id}/billing-profile`, { interim_at, currency: "EUR" });
    expect(saved.status, JSON.stringify(saved.body)).toBe(200);
    return `at ${interim_at}`;
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
async function live(of: History): Promise<void> {
  const { billing, roll, log, assortment } = of;
  const deck = Object.entries(assortment.chances).flatMap(([name, times]) =>
    Array.from({ length: times }, () => name),
  );
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
    const name = pick(roll, deck);
    const action = actions[name];
    if (!action) throw new Error(`There is no action ${name}`);
    log.push(`${iso(at)} ${pair.id} ${name} ${await action(of, pair)}`);
  }
}

/** Tells the twin all at once: the models that were in force, and what was used, in another order. */
async function tell(of: History): Promise<void> {
  const { company, twin, models, twin_models, pairs, log } = of;
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
    for (const booking of (await company.api("GET", `/subscriptions/${id}/add-ons`)).body.data) {
      const { add_on_id, quantity, from, until } = booking;
      const same = { add_on_id: of.twin_add_ons[of.add_ons.indexOf(add_on_id)], quantity, from, until };
      const answer = await twin.api("POST", `/subscriptions/${twin_id}/add-ons`, same);
      expect(answer.status, JSON.stringify([booking, answer.body])).toBe(201);
    }
    if (events.length > 0) await twin.use(twin_id, ...events.toReversed());
  }
}

/** What each closed period of a subscription comes to: all of its records together. */
async function sumsOf(company: Company, id: number): Promise<string[]> {
  const records = await company.records(id);
  const closed = new Set(
    records.flatMap(({ kind, billingStartAt }: Json) => (kind === "period" ? [billingStartAt] : [])),
  );
  const periods = Map.groupBy(
    records.filter(({ billingStartAt }: Json) => closed.has(billingStartAt)),
    ({ billingStartAt, billingEndAt }: Json) => `${billingStartAt} ${billingEndAt}`,
  );
  return [...periods]
    .map(([period, parts]) => {
      const charges = sum(parts.map(({ totalCharges }: Json) => totalCharges));
      return `${period} ${charges} for ${sum(parts.map(({ billedUnits }: Json) => String(billedUnits)))}`;
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

/** Whatever plan is tried on all months, the plans that were in force come to what was billed. */
async function simulate({ billing, roll, company, models }: History): Promise<void> {
  const { api, company_id } = company;
  const of = { billing_model_id: pick(roll, models), from: MONTHS[0], to: MONTHS.at(-1) };
  const { id } = (await api("POST", "/simulations", of)).body.data;
  const actor = { kind: "system", company_id } as const;
  const { deps } = billing.service;
  let tried: Json;
  do {
    await call(
      deps.openContext({ actor, origin: "job", request_id: "test", address: null }),
      carryOnSimulations,
      {},
    );
    tried = (await api("GET", `/simulations/${id}`)).body.data;
  } while (tried.status === "running");
  expect(tried).toMatchObject({ status: "finished", reproduces: true, mismatches: [] });
}

/** What a running period has come to is the same wherever it is asked for. */
async function compareRunning({ billing, company: { api }, pairs }: History): Promise<void> {
  for (const { id } of pairs)
    expect((await api("PUT", `/subscriptions/${id}/spend-limit`, { amount: 5 })).status).toBe(200);
  for (const job of ["spend_limits", "running_bills"]) await runNamedJob(billing.service, job);
  const { rows } = (await api("GET", "/running-bills?group_by=subscription&limit=100")).body.data;
  const kept = new Map<number, string>(rows.map((row: Json) => [row.id, row.amount]));
  for (const { id } of pairs) {
    const read = async (part: string) => (await api("GET", `/subscriptions/${id}${part}`)).body.data;
    const { status, started_at } = await read("");
    if (status !== "active" || started_at > END) continue;
    const { total } = await read("/preview");
    expect([id, (await read("/spend-limit")).spent, kept.get(id)]).toEqual([id, total, total]);
  }
}

/** Lives through the histories of some subscriptions of one company. Errors: where a period comes to another sum. */
export async function liveThrough(
  billing: BillingFixture,
  seed: number,
  subscriptions: number,
  assortment = PLAIN,
): Promise<void> {
  const history = await begin(billing, seed, subscriptions, assortment);
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
    await simulate(history);
    await compareRunning(history);
  } catch (error) {
    throw new Error(`The history of seed ${seed} does not hold:\n${log.join("\n")}`, { cause: error });
  }
}
