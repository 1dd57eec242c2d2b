import {
  compare,
  currencyDigits,
  type Decimal,
  multiply,
  roundMoney,
  subtract,
  sum,
} from "../../core/money.ts";
import { isOfRate } from "../billing_models/credit_rates.ts";
import type { StoredBillingModel } from "../billing_models/model.ts";
import type { BillLine } from "../rating/bill_line.ts";
import { LIMITS } from "../limits.ts";
import type { BillableSubscription } from "../runs/billable.ts";
import type { ChargeTotals, Counts, Mismatch, MonthTotals, SimulationDetail, Spread } from "./model.ts";

/** The months from one to another, both counted. */
export function monthsBetween(from: string, to: string): string[] {
  const months: string[] = [];
  const last = Temporal.PlainYearMonth.from(to);
  for (
    let month = Temporal.PlainYearMonth.from(from);
    Temporal.PlainYearMonth.compare(month, last) <= 0;
    month = month.add({ months: 1 })
  )
    months.push(month.toString());
  return months;
}

/**
 * A subscription as if it had another model: in place of one of its models, or of all of them. What it has booked
 * beside its plan stays.
 */
export function withModel(
  subscription: BillableSubscription,
  model: StoredBillingModel,
  in_place_of: number | undefined,
): BillableSubscription {
  const { timeline, started_at } = subscription;
  if (in_place_of === undefined)
    return { ...subscription, billing_model: model, timeline: [{ billing_model: model, from: started_at }] };
  const changed = timeline.map((entry) =>
    entry.billing_model.id === in_place_of ? { ...entry, billing_model: model } : entry,
  );
  return { ...subscription, timeline: changed };
}

/** The parts of a line that totals need. */
export type SummedLine = Pick<BillLine, "kind" | "charge_code" | "quantity" | "amount">;

const COUNTED: readonly BillLine["kind"][] = ["usage", "overage", "charge", "add_on"];

/** Lines of one kind and charge as one. What took credits is left out: it cost nothing itself, and is in the overage. */
export function sumLines(lines: readonly SummedLine[], currency: string): SummedLine[] {
  const priced = lines.filter(({ charge_code = "" }) => !isOfRate({ code: charge_code }));
  const groups = Map.groupBy(priced, ({ kind, charge_code }) => `${kind} ${charge_code ?? ""}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    const { kind, charge_code } = first;
    const quantity = COUNTED.includes(kind) ? sum(group.map((line) => line.quantity)) : "0";
    const amount = roundMoney(sum(group.map((line) => line.amount)), currency);
    return [{ kind, quantity, amount, ...(charge_code === undefined ? {} : { charge_code }) }];
  });
}

/** A period as it was billed, and as it would have been. */
export interface SimulatedPeriod {
  readonly subscription_id: number;
  readonly billingStartAt: string;
  readonly month: string;
  readonly billed: Decimal;
  readonly billed_lines: readonly SummedLine[];
  /** What the models in force come to; null where they can't be rated any more. */
  readonly rated: Decimal | null;
  readonly simulated: Decimal;
  readonly simulated_lines: readonly SummedLine[];
  /** Why the models in force can't be rated. */
  readonly message: string | null;
}

/** The totals of a simulation so far. */
export type Tally = Pick<SimulationDetail, "counts" | "totals" | "months" | "charges" | "mismatches">;

/** What a simulation begins with. */
export function emptyTally(currency: string): Tally {
  const none = roundMoney("0", currency);
  const counts: Counts = {
    subscriptions: 0,
    periods: 0,
    not_reproduced: 0,
    other_currency: 0,
    without_events: 0,
    failed: 0,
  };
  const totals = { billed: none, simulated: none, difference: none };
  return { counts, totals, months: [], charges: [], mismatches: [] };
}

/** The row of a subscription, by its periods. */
export function rowOf(periods: readonly SimulatedPeriod[], currency: string) {
  return {
    periods: periods.length,
    ...amountsOf(periods, currency),
    reproduces: periods.every(isReproduced),
  };
}

const isReproduced = ({ rated, billed }: SimulatedPeriod) => rated !== null && compare(rated, billed) === 0;

interface Pair {
  readonly billed: Decimal;
  readonly simulated: Decimal;
}

function amountsOf(pairs: readonly Pair[], currency: string) {
  const billed = roundMoney(sum(pairs.map((pair) => pair.billed)), currency);
  const simulated = roundMoney(sum(pairs.map((pair) => pair.simulated)), currency);
  return { billed, simulated, difference: roundMoney(subtract(simulated, billed), currency) };
}

/** The totals with more periods. */
export function addPeriods(tally: Tally, periods: readonly SimulatedPeriod[], currency: string): Tally {
  const wrong = periods.filter((period) => !isReproduced(period)).map(mismatchOf);
  const added = { periods: periods.length, not_reproduced: wrong.length };
  return {
    counts: addCounts(tally.counts, added),
    totals: amountsOf([tally.totals, ...periods], currency),
    months: addMonths(tally.months, periods, currency),
    charges: addCharges(tally.charges, periods, currency),
    mismatches: addMismatches(tally.mismatches, wrong),
  };
}

/** The totals with what is known of a step as a whole: whom it looked at, what it left out, and what can't be rated. */
export function addOfStep(tally: Tally, counts: Partial<Counts>, failures: readonly Mismatch[]): Tally {
  const { totals, months, charges } = tally;
  return {
    counts: addCounts(tally.counts, { ...counts, failed: failures.length }),
    totals,
    months,
    charges,
    mismatches: addMismatches(tally.mismatches, failures),
  };
}

const addMismatches = (before: readonly Mismatch[], found: readonly Mismatch[]) =>
  [...before, ...found].slice(0, LIMITS.simulation_mismatches);

function addCounts(a: Counts, b: Partial<Counts>): Counts {
  return {
    subscriptions: a.subscriptions + (b.subscriptions ?? 0),
    periods: a.periods + (b.periods ?? 0),
    not_reproduced: a.not_reproduced + (b.not_reproduced ?? 0),
    other_currency: a.other_currency + (b.other_currency ?? 0),
    without_events: a.without_events + (b.without_events ?? 0),
    failed: a.failed + (b.failed ?? 0),
  };
}

function mismatchOf({ subscription_id, billingStartAt, billed, rated, message }: SimulatedPeriod): Mismatch {
  return { subscription_id, billingStartAt, billed, rated, message };
}

function addMonths(
  months: readonly MonthTotals[],
  periods: readonly SimulatedPeriod[],
  currency: string,
): MonthTotals[] {
  const before = new Map(months.map((row) => [row.month, row]));
  const groups = Map.groupBy(periods, ({ month }) => month);
  return [...new Set([...before.keys(), ...groups.keys()])].toSorted().map((month) => {
    const known = before.get(month);
    const group = groups.get(month) ?? [];
    const amounts = amountsOf([...(known ? [known] : []), ...group], currency);
    return { month, periods: (known?.periods ?? 0) + group.length, ...amounts };
  });
}

function addCharges(
  charges: readonly ChargeTotals[],
  periods: readonly SimulatedPeriod[],
  currency: string,
): ChargeTotals[] {
  const none = { billed: "0", simulated: "0", billed_units: "0", simulated_units: "0" };
  const parts = [
    ...charges,
    ...periods.flatMap(({ billed_lines, simulated_lines }) => [
      ...billed_lines.map((line) => ({
        ...keyOf(line),
        ...none,
        billed: line.amount,
        billed_units: line.quantity,
      })),
      ...simulated_lines.map((line) => ({
        ...keyOf(line),
        ...none,
        simulated: line.amount,
        simulated_units: line.quantity,
      })),
    ]),
  ];
  const groups = Map.groupBy(parts, ({ kind, charge_code }) => `${kind} ${charge_code ?? ""}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    return [
      {
        kind: first.kind,
        charge_code: first.charge_code,
        billed_units: sum(group.map((part) => part.billed_units)),
        simulated_units: sum(group.map((part) => part.simulated_units)),
        ...amountsOf(group, currency),
      },
    ];
  });
}

const keyOf = ({ kind, charge_code }: SummedLine) => ({ kind, charge_code: charge_code ?? null });

/** How differences spread over subscriptions: the ⌈p/100 × n⌉-th smallest, and the one farthest from zero. */
export class SpreadOfDifferences {
  readonly #digits: number;
  readonly #differences: bigint[] = [];
  #largest: Spread["largest"] | null = null;
  #size = -1n;

  constructor(currency: string) {
    this.#digits = currencyDigits(currency);
  }

  add(subscription_id: number, difference: Decimal): void {
    const minor_units = BigInt(multiply(difference, `1e${this.#digits}`));
    this.#differences.push(minor_units);
    const size = minor_units < 0n ? -minor_units : minor_units;
    if (size <= this.#size) return;
    this.#size = size;
    this.#largest = { subscription_id, difference };
  }

  /** Null of nothing. */
  result(currency: string): Spread | null {
    if (this.#largest === null) return null;
    const sorted = this.#sorted();
    const at = (percent: number) => {
      const minor_units = sorted[Math.ceil((percent * sorted.length) / 100) - 1] ?? 0n;
      return roundMoney(multiply(String(minor_units), `1e-${this.#digits}`), currency);
    };
    return { p5: at(5), p50: at(50), p95: at(95), largest: this.#largest };
  }

  /** As 64-bit numbers where they fit, which is ten times faster. */
  #sorted(): ArrayLike<bigint> {
    if (this.#size < 2n ** 63n) return BigInt64Array.from(this.#differences).toSorted();
    return this.#differences.toSorted((a, b) => (a < b ? -1 : Number(a > b)));
  }
}
