import type { Owner } from "../../core/access.ts";

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

/** `in_progress`: claimed; `committed`: its change is on record; `answered`: and so is its answer. */
export const KEY_STATES = ["in_progress", "committed", "answered"] as const;

/** An answer as it is kept for repeats. */
export interface KeptAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** A key as it was found when a repeat came. */
export interface FoundKey {
  state: (typeof KEY_STATES)[number];
  digest: string;
  lease_until: string;
  target_type: string | null;
  target_id: number | null;
  answer: KeptAnswer | null;
}
