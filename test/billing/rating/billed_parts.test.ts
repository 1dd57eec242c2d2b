import { expect, test } from "bun:test";
import { type PriceTerms, withoutMinimums } from "../../../src/billing/billing_models/price_terms.ts";
import { MONTHS_OF } from "../../../src/billing/billing_models/fee_terms.ts";
import { netByLine } from "../../../src/billing/rating/adjustment.ts";
import type { BillLine } from "../../../src/billing/rating/bill_line.ts";
import { type BilledPart, missingRecord } from "../../../src/billing/rating/billed_parts.ts";
import type { RecordKind } from "../../../src/billing/rating/record_kinds.ts";
import { rate, total } from "../../../src/billing/rating/charges.ts";
import { intervalFees, intervalsBeginning } from "../../../src/billing/rating/fees.ts";
import { segments, type TimelineEntry } from "../../../src/billing/rating/segments.ts";
import { type Period, periodsBetween, periodsFrom } from "../../../src/core/periods.ts";
import { dice, type Dice, pick } from "../../support/dice.ts";
import { propertyCases } from "../../support/properties.ts";
import { model, NO_EVENTS } from "./fixtures.ts";

// Histories without a server: whatever is billed in advance, in whatever order a subscription changes, the records of a
// period sum to what rating it whole gives.

const per_unit = { billing_type: "per_unit", price: "0.37", recurring_fee: "19.99" } as const;

const PLANS: readonly PriceTerms[] = [
  { price: "31" },
  { price: "30.5", fee_timing: "in_advance" as const, setup_fee: "12" },
  { price: "100", fee_interval: "quarter" as const, fee_timing: "in_advance" as const, trial_days: 20 },
  { price: "365", fee_interval: "year" as const, fee_timing: "in_advance" as const, setup_fee: "9.5" },
  { ...per_unit, minimum_charge: "5", maximum_charge: "9" },
  { ...per_unit, fee_timing: "in_advance" as const, trial_days: 45 },
  { ...per_unit, fee_interval: "half_year" as const, fee_timing: "in_advance" as const },
].map((given, i) => model({ id: i + 1, name: `Plan ${i + 1}`, ...given }));

const ZONES = ["UTC", "Asia/Kuala_Lumpur", "America/Sao_Paulo"] as const;

interface KeptRecord {
  readonly id: number;
  readonly kind: RecordKind;
  readonly lines: readonly BillLine[];
}

class History {
  readonly #roll: Dice;
  readonly #zones;
  readonly #started_at: Temporal.Instant;
  readonly #anchor: number;
  readonly #records = new Map<number, KeptRecord[]>();
  readonly #events: { at: Temporal.Instant; units: number }[] = [];
  #timeline: TimelineEntry[];
  #ends_at: Temporal.Instant | null = null;
  #now: Temporal.Instant;
  #ids = 0;

  constructor(seed: number) {
    const roll = dice(seed);
    this.#roll = roll;
    this.#anchor = 1 + roll(31);
    this.#zones = [{ timezone: pick(roll, ZONES), from: null }];
    this.#started_at = Temporal.Instant.from("2024-01-15T00:00:00Z").add({ minutes: roll(60 * 24 * 60) });
    this.#now = this.#started_at;
    this.#timeline = [{ model: pick(roll, PLANS), from: this.#started_at }];
  }

  get periods(): Period[] {
    return [...periodsBetween(this.#started_at, this.#now, this.#anchor, this.#zones)].filter(
      ({ from }) => this.#ends_at === null || Temporal.Instant.compare(from, this.#ends_at) < 0,
    );
  }

  recordsOf(period: Period): readonly KeptRecord[] {
    return this.#records.get(period.from.epochMilliseconds) ?? [];
  }

  whole(period: Period, part: BilledPart = "whole"): readonly BillLine[] {
    const life = { started_at: this.#started_at, ends_at: this.#ends_at };
    const used = segments(period, this.#timeline, life).map((segment) => {
      const inside = this.#events.filter(
        ({ at }) =>
          Temporal.Instant.compare(segment.from, at) <= 0 && Temporal.Instant.compare(at, segment.to) < 0,
      );
      const units = String(inside.reduce((sum, event) => sum + event.units, 0));
      const terms = part === "interim" ? withoutMinimums(segment.model) : segment.model;
      return {
        segment: { ...segment, model: terms },
        usage: { units, event_count: inside.length, usage_digest: NO_EVENTS },
      };
    });
    const before = this.periods.findIndex(({ from }) => from.equals(period.from));
    const fees = intervalsBeginning(this.#timeline, before).flatMap((interval) => {
      const months = periodsFrom(period, MONTHS_OF[interval], this.#anchor, this.#zones);
      return intervalFees(interval, months, this.#timeline, life);
    });
    return rate(used, "EUR", null, [], fees).lines;
  }

  reconcile(period: Period, part: BilledPart): void {
    const records = this.recordsOf(period);
    const found = { expected: this.whole(period, part), records, currency: "EUR" };
    const in_advance = new Set(
      this.#timeline
        .filter((entry) => entry.model.fee_timing === "in_advance")
        .map((entry) => entry.model.id),
    );
    const missing = missingRecord(part, found, (id) => in_advance.has(id));
    if (missing === null) return;
    this.#ids += 1;
    this.#records.set(period.from.epochMilliseconds, [...records, { id: this.#ids, ...missing }]);
  }

  /** Some time passes, and something happens: what a service does at once is done with it. */
  step(): void {
    const roll = this.#roll;
    this.#now = this.#now.add({ hours: 1 + roll(24 * 20) });
    const is_over = this.#ends_at !== null && Temporal.Instant.compare(this.#ends_at, this.#now) <= 0;
    const what = roll(10);
    if (what < 4) {
      for (const days of [1, 15, 30]) {
        const at = this.#now.subtract({ hours: roll(24 * days) });
        this.#events.push({ at, units: 1 + roll(9) });
      }
    } else if (what < 7 && !is_over) {
      this.#change();
    } else if (what === 7 && this.#ends_at === null && roll(3) === 0) {
      this.#end();
    }
    this.run();
  }

  #change(): void {
    const roll = this.#roll;
    const last = this.#timeline.at(-1);
    if (this.#timeline.length > 1 && roll(4) === 0) this.#timeline.pop();
    else {
      const from = this.#now.subtract({ hours: roll(24 * 40) });
      if (last && Temporal.Instant.compare(from, last.from) <= 0) return;
      const plan = pick(roll, PLANS);
      if (plan.id === last?.model.id) return;
      this.#timeline.push({ model: plan, from });
    }
    this.#adjust();
  }

  #end(): void {
    this.#ends_at = this.#now.add({ hours: this.#roll(2) * this.#roll(24 * 40) });
    this.#adjust();
  }

  /** Closed periods whole; then what was billed in advance of those that have records. */
  #adjust(): void {
    for (const period of this.periods) {
      if (this.recordsOf(period).some(({ kind }) => kind === "period")) this.reconcile(period, "whole");
    }
    for (const period of this.periods) {
      if (this.recordsOf(period).length > 0) this.reconcile(period, "advance");
    }
  }

  /** A run, now and then. */
  run(is_sure = false): void {
    for (const period of this.periods) {
      if (!is_sure && this.#roll(3) === 0) continue;
      const end = this.#ends_at ?? period.to;
      const has_ended =
        Temporal.Instant.compare(period.to, this.#now) <= 0 || Temporal.Instant.compare(end, this.#now) <= 0;
      if (!has_ended) {
        this.reconcile(period, "advance");
        if (this.#roll(2) === 0) this.reconcile(period, "interim");
      } else this.reconcile(period, "whole");
    }
  }

  finish(): void {
    this.#now = this.#now.add({ hours: 24 * 40 });
    this.run(true);
  }
}

test("the records of a period sum to what it comes to, rated whole, whatever was billed in advance and meanwhile", () => {
  const seen = new Map<RecordKind, number>();
  const { numRuns } = propertyCases(30);
  for (let seed = 1; seed <= numRuns; seed++) {
    const history = new History(seed);
    for (let step = 0; step < 12; step++) history.step();
    history.finish();
    for (const period of history.periods) {
      const records = history.recordsOf(period);
      // The last one still runs.
      if (!records.some(({ kind }) => kind === "period")) {
        expect(period.to).toEqual(history.periods.at(-1)?.to ?? period.from);
        continue;
      }
      expect(records.filter(({ kind }) => kind === "period")).toHaveLength(1);
      // What was reconciled is complete.
      history.reconcile(period, "advance");
      history.reconcile(period, "whole");
      expect(history.recordsOf(period)).toEqual(records);
      const lines = records.flatMap((record) => record.lines);
      const whole = history.whole(period);
      expect(total(lines, "EUR"), `seed ${seed}, ${period.start_date.toString()}`).toBe(total(whole, "EUR"));
      const net = netByLine(lines, "EUR");
      for (const [key, line] of netByLine(whole, "EUR"))
        expect(net.get(key)?.amount ?? "0.00").toBe(line.amount);
      for (const { kind } of records) seen.set(kind, (seen.get(kind) ?? 0) + 1);
    }
  }
  // All kinds were tried.
  for (const kind of ["period", "adjustment", "advance", "interim"] as const) {
    expect(seen.get(kind) ?? 0).toBeGreaterThan(numRuns / 3);
  }
});
