import { beforeAll, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Json } from "../../support/harness.ts";
import { type Company, FLAT, useBilling } from "../fixtures.ts";
import { changeTo, changesOf, applyDueChanges } from "./fixtures.ts";

// Random histories of a subscription, driven over HTTP and held against a model that knows nothing but lists and
// days.

let company: Company;
/** Flat models of 10, 20 and 30 EUR a month. */
const models: number[] = [];

const PRICES = [10, 20, 30];
const START = Date.parse("2024-01-01T00:00:00Z");
const DAY_MS = 86_400_000;
const DAYS = 150;

const billing = useBilling();

beforeAll(async () => {
  company = await billing.addCompany();
  for (const price of PRICES) models.push(await company.addModel({ ...FLAT, price }));
});

interface Entry {
  id: number;
  at: number;
  model: number;
  status: "scheduled" | "applied" | "cancelled";
}

/** The plain model: every rule as the words of the design have it. */
class Plain {
  readonly entries: Entry[] = [];

  live(): Entry[] {
    return this.entries.filter(({ status }) => status !== "cancelled").toSorted((a, b) => a.at - b.at);
  }

  /** The model in force just before an instant. */
  before(at: number): number {
    return this.live().findLast((entry) => entry.at < at)?.model ?? 0;
  }

  accepts(at: number, model: number): boolean {
    if (at < START) return false;
    const live = this.live();
    if (live.some((entry) => entry.status === "applied" && entry.at > at)) return false;
    if (live.some((entry) => entry.at === at)) return false;
    return this.before(at) !== model && live.find((entry) => entry.at > at)?.model !== model;
  }

  cancelPointless(): void {
    const pointless = this.live().find(
      (entry) => entry.status === "scheduled" && this.before(entry.at) === entry.model,
    );
    if (!pointless) return;
    pointless.status = "cancelled";
    this.cancelPointless();
  }

  applyDue(now: number): void {
    for (const entry of this.live()) if (entry.at <= now) entry.status = "applied";
  }

  /** The applied change that owns a day: the last one by its end. -1: the first model. */
  ownerOf(day: number): number {
    const end = START + (day + 1) * DAY_MS;
    return this.live().findLastIndex((entry) => entry.status === "applied" && entry.at < end);
  }

  /**
   * What the days `[first, last)` cost, which are a whole month: each stretch of days under one model rounded by
   * itself. A change that owns no day parts no stretch (decision 0130).
   */
  fee(first: number, last: number): number {
    const applied = this.live().filter(({ status }) => status === "applied");
    const stretches: { price: number; days: number }[] = [];
    for (let day = first; day < last; day++) {
      const price = PRICES[applied[this.ownerOf(day)]?.model ?? 0] ?? 0;
      const stretch = stretches.at(-1);
      if (stretch?.price === price) stretch.days++;
      else stretches.push({ price, days: 1 });
    }
    return stretches
      .map(({ price, days }) => Math.floor((2 * price * 100 * days + (last - first)) / (2 * (last - first))))
      .reduce((sum, cents) => sum + cents, 0);
  }
}

type Command =
  | { do: "change"; by_ms: number; model: number }
  | { do: "cancel"; which: number }
  | { do: "wait"; days: number; runs: boolean }
  | { do: "bill" };

const commands = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant("change" as const),
        by_ms: fc.oneof(
          fc.integer({ min: -20 * DAY_MS, max: 40 * DAY_MS }),
          fc.integer({ min: -20, max: 40 }).map((days) => days * DAY_MS),
        ),
        model: fc.nat(2),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("cancel" as const), which: fc.nat(9) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant("wait" as const),
        days: fc.integer({ min: 0, max: 30 }),
        runs: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("bill" as const) }) },
  ),
  { minLength: 4, maxLength: 24 },
);

const textOf = (ms: number) => new Date(ms).toISOString();

/** Does a command to both, and holds the answers against each other. */
async function step(plain: Plain, id: number, now: number, command: Command): Promise<number> {
  if (command.do === "wait") {
    const then = now + command.days * DAY_MS;
    billing.clock.set(textOf(then));
    if (!command.runs) return then;
    await applyDueChanges(billing.service);
    plain.applyDue(then);
    return then;
  }
  if (command.do === "bill") {
    await company.run({ subscription_ids: [id] });
    plain.applyDue(now);
  } else if (command.do === "change") {
    const at = now + command.by_ms;
    const { status, body } = await changeTo(company.api, id, models[command.model] ?? 0, textOf(at));
    plain.applyDue(now);
    expect(status).toBe(plain.accepts(at, command.model) ? 200 : 422);
    if (status === 200) {
      const applied = at <= now ? "applied" : "scheduled";
      plain.entries.push({ id: body.data.id, at, model: command.model, status: applied });
      expect(body.data).toMatchObject({ status: applied, old_billing_model_id: models[plain.before(at)] });
    }
  } else {
    const entry = plain.entries[command.which];
    const path = `/subscriptions/${id}/billing-model-changes/${entry?.id ?? 999_999}`;
    const { status } = await company.api("DELETE", path);
    expect(status).toBe(entry?.status === "scheduled" ? 200 : 404);
    if (entry?.status === "scheduled") entry.status = "cancelled";
    plain.cancelPointless();
  }
  return now;
}

/** Where months start, in days since START. */
const MONTHS = [0, 31, 60, 91, 121, 152];

async function check(plain: Plain, id: number): Promise<void> {
  const changes = await changesOf(company.api, id);
  const expected = plain.entries.toSorted((a, b) => a.at - b.at || a.id - b.id);
  expect(changes.map((one: Json) => [one.id, one.status])).toEqual(
    expected.map(({ id: own, status }) => [own, status]),
  );
  const live = plain.live();
  for (const one of changes.filter(({ status }: Json) => status !== "cancelled")) {
    expect(one.old_billing_model_id).toBe(models[plain.before(Date.parse(one.effective_at))]);
  }
  const now_model = live.findLast(({ status }) => status === "applied")?.model ?? 0;
  const subscription = (await company.api("GET", `/subscriptions/${id}`)).body.data;
  expect(subscription.billing_model_id).toBe(models[now_model]);
}

test("histories of changes, cancels and clock jumps come out as the plain model's, and so do their bills", async () => {
  await fc.assert(
    fc.asyncProperty(commands, async (history) => {
      let now = START + 10 * DAY_MS;
      billing.clock.set(textOf(now));
      const id = await company.subscribe(models[0], { started_at: textOf(START) });
      const plain = new Plain();
      for (const command of history) {
        if (command.do === "wait" && now + command.days * DAY_MS > START + DAYS * DAY_MS) continue;
        now = await step(plain, id, now, command);
        await check(plain, id);
      }
      // In the end everything that is due is applied and closed, in either order.
      now = START + (DAYS + 2) * DAY_MS + 3_600_000;
      billing.clock.set(textOf(now));
      if (history.length % 2 === 0) await company.run({ subscription_ids: [id] });
      await applyDueChanges(billing.service);
      plain.applyDue(now);
      await company.run({ subscription_ids: [id] });
      await check(plain, id);
      const sums = new Map<string, number>();
      for (const { billingStartAt, totalCharges } of await company.records(id)) {
        const cents = Math.round(Number(totalCharges) * 100);
        sums.set(billingStartAt, (sums.get(billingStartAt) ?? 0) + cents);
      }
      const fees = MONTHS.slice(0, -1).map((first, i): [string, number] => [
        textOf(START + first * DAY_MS),
        plain.fee(first, MONTHS[i + 1] ?? 0),
      ]);
      expect(Object.fromEntries(sums)).toEqual(Object.fromEntries(fees));
    }),
    { numRuns: 25 },
  );
});
