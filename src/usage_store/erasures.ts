/** The events whose metadata is to be erased: those that meet every condition, were stored by `last_seq`, and are not erased. */
export interface ErasureQuery {
  /** This, and the conditions up to `metadata`, as of `EventFilter`. */
  company_id: number;
  subscription_ids?: readonly number[] | undefined;
  start_ms?: number | undefined;
  end_ms?: number | undefined;
  metadata?: Readonly<Record<string, string>> | undefined;
  /** Lower-case UUIDs. */
  ids?: readonly string[] | undefined;
  last_seq: number;
  /** As of `erase`. */
  keep?: readonly string[] | undefined;
}

/** The part of the port that erases the metadata of events. Decision 0206. */
export interface UsageErasures {
  /** The ids of at most `limit` events to erase, in no particular order; none when all are erased. */
  findUnerased(query: ErasureQuery, limit: number, timeout_ms: number): Promise<string[]>;

  /**
   * Replaces the metadata of events by `{"erased": true}` beside what is at the keys to keep (decision 0238), durably.
   * All else of them stays; ids that the company does not have are passed over. Errors: unavailable, nothing was changed.
   */
  erase(company_id: number, ids: readonly string[], keep?: readonly string[]): Promise<void>;
}
