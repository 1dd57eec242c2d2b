import type { Spending, Spent } from "../../app/live_limits.ts";

/** After so long they are rated again without new usage: plans change, and fees are added. */
const STALE_MS = 300_000;

/** The running charges that a process has rated, and where usage came since. */
export class RatedSpending implements Spending {
  readonly #spent = new Map<number, Spent>();
  /** Those that are rated, or are being rated for the first time. */
  readonly #known = new Set<number>();
  readonly #changed = new Set<number>();

  note(subscription_id: number): void {
    if (this.#known.has(subscription_id)) this.#changed.add(subscription_id);
  }

  at(subscription_id: number, now_ms: number): Spent | undefined {
    const spent = this.#spent.get(subscription_id);
    return spent !== undefined && now_ms < spent.until_ms ? spent : undefined;
  }

  due(ids: readonly number[], now_ms: number): number[] {
    return ids
      .map((id) => ({ id, rated_ms: this.at(id, now_ms)?.as_of_ms ?? 0 }))
      .filter(({ id, rated_ms }) => this.#changed.has(id) || rated_ms + STALE_MS <= now_ms)
      .toSorted((a, b) => a.rated_ms - b.rated_ms)
      .map(({ id }) => id);
  }

  begin(ids: readonly number[]): void {
    for (const id of ids) {
      this.#known.add(id);
      this.#changed.delete(id);
    }
  }

  put(subscription_id: number, spent: Spent): void {
    // Its last limit may have been taken away while it was rated: usage is not heard of then.
    if (this.#known.has(subscription_id)) this.#spent.set(subscription_id, spent);
  }

  drop(subscription_id: number): void {
    this.#spent.delete(subscription_id);
    this.#known.delete(subscription_id);
    this.#changed.delete(subscription_id);
  }
}
