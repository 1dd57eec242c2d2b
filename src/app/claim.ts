import type { Principal } from "../core/access.ts";
import type { Queries } from "../store/store.ts";

/** A request with an Idempotency-Key, and its principal. */
export interface KeyedRequest {
  company_id: number;
  owner: Principal;
  method: string;
  path: string;
  key: string;
  /** SHA-256 of the body, the query and the caller's privileges: a repeat has the same. */
  digest: string;
  now: Temporal.Instant;
}

/** A response as it is stored for repeats. */
export interface StoredResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/**
 * An idempotency claim: `acquire` it before the request runs, `commit` it in the transaction of the change, `complete` it
 * with the response. Of many requests with one key, one passes `commit`. Decision 0076.
 */
export interface Claim {
  /**
   * Claims the key; a repeat gets the stored response instead. Errors: conflict for another request under the same
   * key, for one in progress, and for one whose response is not stored.
   */
  acquire(): Promise<StoredResponse | null>;
  /**
   * Marks the key as carried out, in the transaction of the change. Errors: conflict when another request has taken
   * the key over, which rolls the change back.
   */
  commit(q: Queries, target: { type: string; id: number | null }): Promise<void>;
  /**
   * Stores the response for repeats; null: it can't be stored. A failed request releases the key, unless its change
   * was committed: then a repeat gets a conflict that says so.
   */
  complete(status: number, response: StoredResponse | null): Promise<void>;
}
