/** What is measured of a group: over all, and in each bucket; null where there is nothing to measure. */
export interface PlainLine {
  keys: readonly string[];
  value: number | null;
  values: (number | null)[];
  events: number;
}

/** Sums of events by group and bucket, in whole millionths. */
export class Sums {
  readonly #buckets: number;
  readonly #measure: string;
  readonly #totals: Float64Array;
  readonly #events: Float64Array;
  readonly #low: Float64Array;
  readonly #high: Float64Array;
  readonly #subscriptions: number;
  /** Which subscriptions have events, by group and bucket; only where they are counted. */
  readonly #active: Uint8Array;

  constructor(groups: number, buckets: number, measure: string, subscriptions: number) {
    const slots = groups * buckets;
    this.#buckets = buckets;
    this.#measure = measure;
    this.#totals = new Float64Array(slots);
    this.#events = new Float64Array(slots);
    this.#low = new Float64Array(slots).fill(Number.POSITIVE_INFINITY);
    this.#high = new Float64Array(slots).fill(Number.NEGATIVE_INFINITY);
    this.#subscriptions = subscriptions;
    this.#active = new Uint8Array(measure === "active_subscriptions" ? slots * subscriptions : 0);
  }

  add(group: number, bucket: number, millionths: number, subscription: number): void {
    const slot = group * this.#buckets + bucket;
    this.#totals[slot] = (this.#totals[slot] ?? 0) + millionths;
    this.#events[slot] = (this.#events[slot] ?? 0) + 1;
    if (millionths < (this.#low[slot] ?? 0)) this.#low[slot] = millionths;
    if (millionths > (this.#high[slot] ?? 0)) this.#high[slot] = millionths;
    if (this.#active.length > 0) this.#active[slot * this.#subscriptions + subscription] = 1;
  }

  /** Whether a group has events. */
  has(group: number): boolean {
    return this.#slots(group).some((slot) => (this.#events[slot] ?? 0) > 0);
  }

  /** Some groups together. */
  line(groups: readonly number[], keys: readonly string[]): PlainLine {
    const slots = groups.map((group) => this.#slots(group));
    return {
      keys,
      value: this.#value(slots.flat()),
      values: Array.from({ length: this.#buckets }, (_, i) =>
        this.#value(slots.map((of_group) => of_group[i] ?? 0)),
      ),
      events: add(slots.flat(), this.#events),
    };
  }

  #slots(group: number): number[] {
    return Array.from({ length: this.#buckets }, (_, i) => group * this.#buckets + i);
  }

  #value(slots: readonly number[]): number | null {
    const [total, events] = [add(slots, this.#totals), add(slots, this.#events)];
    if (this.#measure === "units") return total / 1e6;
    if (this.#measure === "events") return events;
    if (this.#measure === "active_subscriptions") return this.#countActive(slots);
    if (events === 0) return null;
    if (this.#measure === "smallest")
      return slots.reduce((low, slot) => Math.min(low, this.#low[slot] ?? 0), Number.POSITIVE_INFINITY) / 1e6;
    if (this.#measure === "largest")
      return (
        slots.reduce((high, slot) => Math.max(high, this.#high[slot] ?? 0), Number.NEGATIVE_INFINITY) / 1e6
      );
    // Half away from zero, in whole numbers.
    const [exact, count] = [BigInt(total), BigInt(events)];
    const size = (2n * (exact < 0n ? -exact : exact) + count) / (2n * count);
    return Number(exact < 0n ? -size : size) / 1e6;
  }

  #countActive(slots: readonly number[]): number {
    let count = 0;
    for (let one = 0; one < this.#subscriptions; one++)
      if (slots.some((slot) => this.#active[slot * this.#subscriptions + one] === 1)) count++;
    return count;
  }
}

function add(slots: readonly number[], column: Float64Array): number {
  return slots.reduce((sum, slot) => sum + (column[slot] ?? 0), 0);
}
