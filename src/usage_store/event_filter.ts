import type { Decimal } from "../core/money.ts";

/**
 * A condition on a metadata key, whose value is compared as in filters. `is`: it is one of the values, `contains`: one of
 * them is a part of it, whatever the case. `present`: there is a string, number or boolean. `is_not` and `missing` are
 * the opposites of `is` and `present`.
 */
export interface MetadataCondition {
  key: string;
  op: "is" | "is_not" | "contains" | "present" | "missing";
  values: readonly string[];
}

/** A filter of events: every condition that is present must hold. */
export interface EventFilter {
  company_id: number;
  /** Absent: all of the company. Empty: nothing. */
  subscription_ids?: readonly number[] | undefined;
  /** Inclusive, Unix ms. */
  start_ms?: number | undefined;
  /** Exclusive, Unix ms. */
  end_ms?: number | undefined;
  /**
   * Every pair must match. The key is looked up whole first; only when the event's metadata has no such
   * key, and the key holds dots, it is a path: each part a key of a nested object, or the index of an
   * array element. The value found matches when it is a string equal to the given one, or a number,
   * boolean or null whose JSON text equals it; objects and arrays never match.
   */
  metadata?: Readonly<Record<string, string>> | undefined;
  /** Every one must hold. */
  conditions?: readonly MetadataCondition[] | undefined;
  /** A substring of a string value at any depth, never of a key; lower-cased on both sides; `%` is a `%`. */
  metadata_search?: string | undefined;
  /** Inclusive; any decimal. */
  min_usage?: Decimal | undefined;
  /** Inclusive; any decimal. */
  max_usage?: Decimal | undefined;
}
