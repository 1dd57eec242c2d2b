import type { Claim, StoredResponse, KeyedRequest } from "../app/claim.ts";
import { LIMITS } from "./limits.ts";
import { AppError } from "../core/errors.ts";
import type { Queries, Store } from "../store/store.ts";
import * as queries from "./queries.ts";
import { replay, isDone, isStorable } from "./rules.ts";

const TTL = {
  lease: Temporal.Duration.from({ seconds: LIMITS.idempotency_lease_s }),
  keep: Temporal.Duration.from({ hours: LIMITS.idempotency_hours }),
};

/** An idempotency claim, stored as a row. */
export class StoredClaim implements Claim {
  readonly #store: Store;
  readonly #request: KeyedRequest;
  readonly #claim = crypto.randomUUID();
  #id: number | null = null;

  constructor(store: Store, request: KeyedRequest) {
    this.#store = store;
    this.#request = request;
  }

  async acquire(): Promise<StoredResponse | null> {
    const { now, digest } = this.#request;
    const taken = await this.#store.tx(async (q) => {
      const id = await queries.insertClaim(q, this.#request, this.#claim, TTL);
      return id === null ? { found: await queries.findKey(q, this.#request) } : { id };
    });
    if ("id" in taken) {
      this.#id = taken.id;
      return null;
    }
    if (!taken.found) throw new Error("An Idempotency-Key is claimed and does not exist");
    return replay(taken.found, digest, now);
  }

  async commit(q: Queries, target: { type: string; id: number | null }): Promise<void> {
    if (this.#id === null || (await queries.updateCommitted(q, this.#id, this.#claim, target))) return;
    throw new AppError("conflict", "Another request with this Idempotency-Key was faster: try again", {
      retry_after_s: 1,
    });
  }

  async complete(status: number, response: StoredResponse | null): Promise<void> {
    const id = this.#id;
    if (id === null) return;
    await this.#store.tx((q) =>
      isDone(status)
        ? queries.saveResponse(q, id, this.#claim, response && isStorable(response) ? response : null)
        : queries.deleteClaim(q, id, this.#claim),
    );
  }
}
