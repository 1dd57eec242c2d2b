import { expect, test } from "bun:test";
import { CreateBillingModel } from "../../../src/billing/billing_models/model.ts";
import { type PriceTerms, priceTermsOf } from "../../../src/billing/billing_models/price_terms.ts";
import { DEFAULT_PRICING, mergePricing } from "../../../src/billing/billing_models/rules.ts";
import type { ChargedUsage } from "../../../src/billing/rating/charge_lines.ts";
import { rate, type UsedSegment } from "../../../src/billing/rating/charges.ts";
import { creditMonth } from "../../../src/billing/rating/credit_month.ts";
import { type Segment, segments } from "../../../src/billing/rating/segments.ts";
import { currencyDigits } from "../../../src/core/money.ts";
import { periodStartingIn } from "../../../src/core/periods.ts";
import { decode } from "../../../src/core/validate.ts";
import { monthsOf } from "../../sim/bill_model.ts";
import { type Dice, dice, pick } from "../../support/dice.ts";
import { FUZZ_SEED, propertyCases } from "../../support/properties.ts";
import { compareLines } from "../runs/check_records.ts";
import { type Count, type Counted, dec, linesOfMonth } from "./charge_model.ts";
import { randomMeter, randomPlan } from "./random_plans.ts";
import { chargesOf, planOnTheWire, type SoldMeter, type SoldPlan } from "./sold_plans.ts";

// Rating against the model, whatever was counted: far larger, finer and odder numbers than events come to.

const ZONE = "Europe/Berlin";
const CASES = propertyCases(300).numRuns;
const ADDITIVE = ["count", "sum", "weighted_sum"];

/** What is counted: as text for the program, as a whole number for the model. */
interface Told extends Counted {
  text: string;
}

function randomQuantity(roll: Dice): string {
  const whole = pick(roll, [0, 0, 1, 7, 100, 1_000, roll(100_000), roll(2 ** 31)]);
  const scale = roll(8) === 0 ? "000000000" : "";
  const part = roll(2) === 0 ? "" : `.${String(1 + roll(999_999)).padStart(6, "0")}`;
  const text = `${whole}${whole === 0 ? "" : scale}${part}`.replace(/\.?0+$/, (end) =>
    end.includes(".") ? "" : end,
  );
  return roll(6) === 0 && text !== "0" ? `-${text}` : text;
}

function randomCount(roll: Dice, part: number): Told {
  const text = randomQuantity(roll);
  const events = dec(text) === 0n ? roll(2) : 1 + roll(9);
  return {
    part,
    text,
    quantity: dec(text),
    events,
    corrections: roll(events + 1),
    skipped: roll(3) === 0 ? roll(5) : 0,
    digest: events === 0 ? 0n : BigInt(1 + roll(1_000_000)),
  };
}

/** Counts for a meter's parts in a slice, the same whenever they are asked for; some parts have none. */
function tellCounts(roll: Dice) {
  const told = new Map<string, Told[]>();
  return (meter: SoldMeter | null, matches: readonly unknown[], from_ms: number): Told[] => {
    const key = `${meter?.id} ${JSON.stringify(matches)} ${from_ms}`;
    const known = told.get(key);
    if (known) return known;
    const parts = [...matches.keys(), -1].filter(() => roll(4) > 0).map((part) => randomCount(roll, part));
    told.set(key, parts);
    return parts;
  };
}

function termsOf(plan: SoldPlan, currency: string, meters: readonly SoldMeter[]): PriceTerms {
  const input = decode(CreateBillingModel, planOnTheWire(plan, `Plan ${plan.id}`, currency));
  const { name, description: _description, ...pricing } = input;
  const before = { ...DEFAULT_PRICING, billing_type_id: input.billing_type_id, currency };
  const known = new Map(
    meters.map(({ id, group_keys, aggregation }) => [id, { group_keys: [...group_keys], aggregation }]),
  );
  return priceTermsOf({ ...mergePricing(before, pricing, known), id: plan.id, name });
}

const hex = (digest: bigint) => digest.toString(16).padStart(32, "0");

/** A segment with what was counted, as the pipeline hands it to rating. */
function usedSegment(segment: Segment, plan: SoldPlan, counts: ReturnType<typeof tellCounts>): UsedSegment {
  const from_ms = segment.from.epochMilliseconds;
  const [own] = counts(plan.meter, [], from_ms);
  const charges = new Map<string, ChargedUsage>();
  for (const { code, meter, prices } of chargesOf(plan)) {
    if (meter === null) continue;
    const parts = counts(
      meter,
      prices.map(({ match }) => match),
      from_ms,
    );
    charges.set(code, {
      is_additive: ADDITIVE.includes(meter.aggregation),
      parts: parts.map(({ part, text, events, skipped, digest }) => ({
        part,
        quantity: text,
        event_count: events,
        skipped_events: skipped,
        digest: hex(digest),
      })),
    });
  }
  const usage = {
    units: own?.text ?? "0",
    event_count: own?.events ?? 0,
    corrections: own?.corrections ?? 0,
    usage_digest: hex(own?.digest ?? 0n),
    skipped_events: own?.skipped ?? 0,
    is_additive: plan.meter === null || ADDITIVE.includes(plan.meter.aggregation),
  };
  return { segment, usage, charges };
}

function chosen<T>(list: readonly T[], i: number): T {
  const one = list[i];
  if (one === undefined) throw new Error(`There is no ${i}`);
  return one;
}

function rateOne(seed: number): void {
  const roll = dice(seed);
  const currency = pick(roll, ["EUR", "EUR", "JPY", "BHD", "CLF"]);
  const meters = [1, 2, 3].map((id) => ({ ...randomMeter(roll), id }));
  const plans = [1, 2].map((id) => ({ ...randomPlan(roll, meters), id }));
  const terms = plans.map((plan) => termsOf(plan, currency, meters));
  const anchor_day = pick(roll, [1, 15, 31]);
  const period = periodStartingIn("2024-03", anchor_day, [{ timezone: ZONE, from: null }]);
  const started_ms =
    period.from.epochMilliseconds + (roll(3) === 0 ? roll(40 * 24 * 60) - 12 * 24 * 60 : 0) * 60_000;
  const to_ms = period.to.epochMilliseconds;
  if (started_ms >= to_ms) return;
  const ends_ms = roll(4) === 0 ? started_ms + 1 + roll(2 * (to_ms - started_ms)) : null;
  const from = Math.max(started_ms, period.from.epochMilliseconds);
  const cuts = Array.from({ length: roll(4) }, () =>
    roll(2) === 0 ? from + 1 + roll(to_ms - from) : from + 1 + roll(86_400_000),
  ).toSorted((a, b) => a - b);
  const times = [started_ms, ...new Set(cuts)];
  const first = roll(2);
  const at = (i: number) => (first + i) % 2;
  const timeline = times.map((from_ms, i) => ({ plan: chosen(plans, at(i)), from_ms }));
  const instantOf = (ms: number) => Temporal.Instant.fromEpochMilliseconds(ms);
  const cut = segments(
    period,
    times.map((ms, i) => ({ model: chosen(terms, at(i)), from: instantOf(ms) })),
    { started_at: instantOf(started_ms), ends_at: ends_ms === null ? null : instantOf(ends_ms) },
  );
  const counts = tellCounts(roll);
  const used = cut.map((segment) => usedSegment(segment, chosen(plans, segment.model.id - 1), counts));
  const { lines, total } = rate(used, currency, creditMonth(used, period));
  const facts = { zone: ZONE, anchor_day, started_ms, ends_ms: null, timeline };
  const month = monthsOf(facts, to_ms).find((one) => one.to_ms === to_ms);
  if (!month) throw new Error("There is no such month");
  const count: Count = (meter, matches, slice) => counts(meter, matches, slice.from_ms);
  const digits = currencyDigits(currency);
  const expected = linesOfMonth({ ...facts, ends_ms }, month, digits, count);
  compareLines(lines, expected, digits, `seed ${seed}`);
  const minor = expected.reduce((sum, line) => sum + line.minor, 0n);
  expect(BigInt(total.replace(".", "")), `seed ${seed}`).toBe(minor);
}

test(
  "random stretches of random plans are rated as the model does, line by line",
  () => {
    for (let i = 0; i < CASES; i++) rateOne(FUZZ_SEED * 1_000_003 + i);
    expect(CASES).toBeGreaterThan(0);
  },
  CASES * 100,
);
