import type { Decimal } from "../core/money.ts";
import type { Watch, WatchedTotals } from "../usage_store/running_totals.ts";

/** Units that are held for an event to come. */
export interface Hold {
  readonly company_id: number;
  /** The id of that event: a lower-case UUID. */
  readonly reservation_id: string;
  readonly subscription_id: number;
  readonly feature_id: number;
  /** At most six decimals. */
  readonly units: Decimal;
  /** The values of group keys that the event will have. */
  readonly group: Readonly<Record<string, string>>;
  /** Unix ms from which on it holds nothing. */
  readonly expires_ms: number;
}

/** What is held of a feature: of one value of a group key, where limits are `per` it. */
export interface HeldScope {
  readonly subscription_id: number;
  readonly feature_id: number;
  readonly per: { readonly key: string; readonly value: string } | null;
}

/**
 * What checks need in memory: totals of limits, and holds, which mirror rows. A hold ends in the turn of the loop in which
 * the totals come to hold its event. Decision 0236.
 */
export interface LiveLimits {
  /** The totals of watches, which are set at their first use. Watches with equal keys are the same. */
  totalsOf(watches: readonly (Watch & { readonly key: string })[]): WatchedTotals[];
  /** The keys of a company's watches. */
  watchedKeys(company_id: number): string[];
  /** Ends the watches of these keys. */
  forget(keys: readonly string[]): void;
  /** The units held at an instant, exact. */
  heldAt(now_ms: number, scope: HeldScope): Decimal;
  /** How many holds a company has, ended ones too until they are removed. */
  count(company_id: number): number;
  find(company_id: number, reservation_id: string): Hold | undefined;
  add(hold: Hold): void;
  remove(company_id: number, reservation_id: string): void;
  /** Ends holds whose events are stored; their rows are deleted in the background. */
  settle(company_id: number, reservation_ids: readonly string[]): void;
}
