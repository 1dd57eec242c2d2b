import { LIMITS } from "../limits.ts";

/**
 * Limits concurrent attempts: in all, for each endpoint, and lower ones for failing endpoints. Instances have their shares
 * of each, one attempt at least.
 */
export class ConcurrencyLimits {
  readonly #failing: ReadonlySet<number>;
  readonly #active = new Map<number, number>();
  readonly #slots_endpoint: number;
  #free: number;
  #free_failing: number;

  /** `under_way`: the endpoint of each attempt that is under way; `shareOf`: how much of a limit is this instance's. */
  constructor(
    under_way: Iterable<number>,
    failing: ReadonlySet<number>,
    shareOf: (limit: number) => number = (limit) => limit,
  ) {
    this.#failing = failing;
    this.#free = shareOf(LIMITS.webhook_slots);
    this.#free_failing = shareOf(LIMITS.webhook_slots_failing);
    this.#slots_endpoint = shareOf(LIMITS.webhook_slots_endpoint);
    for (const endpoint_id of under_way) this.acquire(endpoint_id, 1);
  }

  active(endpoint_id: number): number {
    return this.#active.get(endpoint_id) ?? 0;
  }

  availableFor(endpoint_id: number): number {
    const is_failing = this.#failing.has(endpoint_id);
    const endpoint_slots = (is_failing ? 1 : this.#slots_endpoint) - this.active(endpoint_id);
    return Math.max(0, Math.min(endpoint_slots, this.#free, is_failing ? this.#free_failing : this.#free));
  }

  acquire(endpoint_id: number, count: number): void {
    this.#active.set(endpoint_id, this.active(endpoint_id) + count);
    this.#free -= count;
    if (this.#failing.has(endpoint_id)) this.#free_failing -= count;
  }
}
