import { LIMITS } from "../../core/limits.ts";
import { AppError } from "../../core/errors.ts";
import type { Queries, Store } from "../../store/store.ts";
import type { KeptAnswer, KeyedRequest } from "./model.ts";
import * as queries from "./queries.ts";
import { answerToRepeat, isDone, isKept } from "./rules.ts";

const LIVES = {
  lease: Temporal.Duration.from({ seconds: LIMITS.idempotency_lease_s }),
  keep: Temporal.Duration.from({ hours: LIMITS.idempotency_hours }),
};

/**
 * One request's hold on its Idempotency-Key: `take` before it runs, `commit` in the transaction of its change,
 * `settle` with its answer. Of many requests with one key, one passes `commit`. Decision 0076.
 */
export class Claim {
  readonly #store: Store;
  readonly #request: KeyedRequest;
  readonly #name = crypto.randomUUID();
  #id: number | null = null;

  constructor(store: Store, request: KeyedRequest) {
    this.#store = store;
    this.#request = request;
  }

  /** Claims the key; a repeat gets the answer that was kept. Errors: conflict (see `answerToRepeat`). */
  async take(): Promise<KeptAnswer | null> {
    const { now, digest } = this.#request;
    const taken = await this.#store.tx(async (q) => {
      const id = await queries.insertClaim(q, this.#request, this.#name, LIVES);
      return id === null ? { found: await queries.findKey(q, this.#request) } : { id };
    });
    if ("id" in taken) {
      this.#id = taken.id;
      return null;
    }
    if (!taken.found) throw new Error("An Idempotency-Key is taken and is not there");
    return answerToRepeat(taken.found, digest, now);
  }

  /**
   * Says in the transaction of the change that it is made. Errors: conflict when another request has taken the
   * key over meanwhile, which undoes the change.
   */
  async commit(q: Queries, target: { type: string; id: number | null }): Promise<void> {
    if (this.#id === null || (await queries.updateCommitted(q, this.#id, this.#name, target))) return;
    throw new AppError("conflict", "Another request with this Idempotency-Key was faster: try again", {
      retry_after_s: 1,
    });
  }

  /**
   * Keeps the answer for repeats, or that there was one that can't be kept (null). A refusal or a failure
   * gives the key up, unless the change was made: then repeats are told so.
   */
  async settle(status: number, answer: KeptAnswer | null): Promise<void> {
    const id = this.#id;
    if (id === null) return;
    await this.#store.tx((q) =>
      isDone(status)
        ? queries.updateAnswered(q, id, this.#name, answer && isKept(answer) ? answer : null)
        : queries.deleteClaim(q, id, this.#name),
    );
  }
}
