import { LIMITS } from "../limits.ts";
import { roundMoney, sum } from "../../core/money.ts";
import { type Clock, type IsoInstant, iso } from "../../core/time.ts";
import type {
  BillingRunDetail,
  BillingRunResult,
  CurrencySum,
  RunCounts,
  RunError,
  RunRecord,
} from "./model.ts";
import type { DuePeriod } from "./billable.ts";
import type { Outcome } from "./pipeline.ts";

export const NO_COUNTS: RunCounts = {
  subscriptions: 0,
  periods: 0,
  adjustments: 0,
  unchanged: 0,
  not_due: 0,
  failed: 0,
  late_unbilled: 0,
};

/** Where records are counted. */
const COUNTERS = {
  period: "periods",
  adjustment: "adjustments",
  advance: "advances",
  interim: "interims",
} as const;

/** The progress of a run: its counts, errors and first records so far. */
export class Progress {
  readonly #run: BillingRunDetail;
  readonly #failed = new Set<number>();
  /** How many due periods of a subscription are not settled yet. */
  readonly #unsettled = new Map<number, number>();
  readonly #records: RunRecord[] = [];
  readonly #errors: RunError[] = [];
  readonly #clock: Clock;
  readonly #sums = new Map<string, { records: number; totalCharges: string }>();
  #counts: RunCounts = NO_COUNTS;

  constructor(run: BillingRunDetail, clock: Clock) {
    this.#run = run;
    this.#clock = clock;
  }

  /** The run so far, or as it ended. */
  snapshot(status: BillingRunDetail["status"] = "running"): BillingRunResult {
    // The call's `now` is fixed; a run may take hours.
    const updated_at = iso(this.#clock.now());
    return {
      ...this.#run,
      status,
      counts: this.#counts,
      updated_at,
      finished_at: status === "running" ? null : updated_at,
      errors: [...this.#errors],
      records: [...this.#records],
      totals: this.#totals(),
    };
  }

  count(counter: keyof RunCounts, n = 1): void {
    this.#counts = { ...this.#counts, [counter]: (this.#counts[counter] ?? 0) + n };
  }

  /** Counts so many subscriptions: at once those with nothing due, the others once their periods are settled. */
  lookAt(subscriptions: number, due: readonly DuePeriod[]): void {
    const periods = Map.groupBy(due, ({ subscription }) => subscription.id);
    for (const [id, own] of periods) this.#unsettled.set(id, own.length);
    this.count("subscriptions", subscriptions - periods.size);
  }

  #settle(subscription_id: number, periods: number): void {
    const left = this.#unsettled.get(subscription_id);
    if (left === undefined) return;
    if (left > periods) {
      this.#unsettled.set(subscription_id, left - periods);
      return;
    }
    this.#unsettled.delete(subscription_id);
    this.count("subscriptions");
  }

  record(outcome: Outcome): void {
    this.#settle(outcome.subscription.id, 1);
    if (outcome.result === "failed") {
      this.fail(outcome.subscription.id, iso(outcome.period.from), outcome.message);
    } else if (outcome.result === "written") {
      this.count(COUNTERS[outcome.record.kind]);
      this.#add(outcome.record);
      if (this.#records.length < LIMITS.billing_run_records) this.#records.push(outcome.record);
    } else if (outcome.part === "whole") {
      this.count("unchanged");
    }
  }

  #add({ currency, totalCharges }: RunRecord): void {
    const { records, totalCharges: before } = this.#sums.get(currency) ?? { records: 0, totalCharges: "0" };
    const all = roundMoney(sum([before, totalCharges]), currency);
    this.#sums.set(currency, { records: records + 1, totalCharges: all });
  }

  /** Sums of all records by currency, also of those that are not listed. */
  #totals(): CurrencySum[] {
    return [...this.#sums]
      .map(([currency, sums]) => ({ currency, ...sums }))
      .toSorted((a, b) => (a.currency < b.currency ? -1 : 1));
  }

  /** Records a subscription's first error: the later ones have the same cause. */
  fail(subscription_id: number, billingStartAt: IsoInstant | null, message: string): void {
    // Its other periods may be skipped.
    this.#settle(subscription_id, Number.POSITIVE_INFINITY);
    if (this.#failed.has(subscription_id)) return;
    this.#failed.add(subscription_id);
    this.count("failed");
    if (this.#errors.length < LIMITS.billing_run_errors) {
      this.#errors.push({ subscription_id, billingStartAt, message });
    }
  }

  /** Records the error that ended the run itself, before all others. */
  end(message: string): void {
    this.#errors.unshift({ subscription_id: null, billingStartAt: null, message });
    this.#errors.splice(LIMITS.billing_run_errors);
  }

  hasFailed(subscription_id: number): boolean {
    return this.#failed.has(subscription_id);
  }

  /** How many subscriptions have failed. */
  get failures(): number {
    return this.#failed.size;
  }

  /** Whether the run has nothing to show: no record, no error. */
  isEmpty(): boolean {
    const { periods, adjustments, late_unbilled, advances = 0, interims = 0 } = this.#counts;
    return periods + adjustments + advances + interims + late_unbilled + this.#errors.length === 0;
  }
}
