import type { Owner } from "../core/access.ts";
import type { Queries } from "../store/store.ts";

/** A request that came with an Idempotency-Key, and whose it is. */
export interface KeyedRequest {
  company_id: number;
  owner: Owner;
  method: string;
  path: string;
  key: string;
  /** A digest of the body's bytes, the query and the caller's rights: what must be the same in a repeat. */
  digest: string;
  now: Temporal.Instant;
}

/** An answer as it is kept for repeats. */
export interface KeptAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/**
 * An idempotency claim: `take` it before the request runs, `commit` it in the transaction of the change, `settle` it
 * with the answer. Of many requests with one key, one passes `commit`. Decision 0076.
 */
export interface Claim {
  /** Claims the key; a repeat gets the answer that was kept. Errors: conflict (see `answerToRepeat`). */
  take(): Promise<KeptAnswer | null>;
  /**
   * Says in the transaction of the change that it is made. Errors: conflict when another request has taken the
   * key over meanwhile, which undoes the change.
   */
  commit(q: Queries, target: { type: string; id: number | null }): Promise<void>;
  /**
   * Keeps the answer for repeats, or that there was one that can't be kept (null). A refusal or a failure
   * gives the key up, unless the change was made: then repeats are told so.
   */
  settle(status: number, answer: KeptAnswer | null): Promise<void>;
}
