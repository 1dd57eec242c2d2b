import type { Decimal } from "../core/money.ts";
import type { ReadTx } from "../store/store.ts";
import type { Watch, WatchedTotals } from "../usage_store/running_totals.ts";

/** A watch with what makes it one: watches of equal keys are the same. */
export interface KeyedWatch extends Watch {
  readonly key: string;
}

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

/** What a subscription's running charges came to when they were rated. */
export interface Spent {
  readonly amount: Decimal;
  /** What they come to if usage goes on as it did; null where nobody asked, or it is too early to say. */
  readonly projected: Decimal | null;
  readonly as_of_ms: number;
  /** The billing period that they are of; its end is not in it. */
  readonly from_ms: number;
  readonly until_ms: number;
  /** What the period before came to, for a while after its end. */
  readonly before: { readonly amount: Decimal; readonly from_ms: number; readonly until_ms: number } | null;
}

/** The running charges of a company's subscriptions with a spend limit or an alert on them, as far as this process has rated them. Decision 0252. */
export interface Spending {
  /** Notes that a subscription is to be rated again. */
  note(subscription_id: number): void;
  /** What was rated of the period that holds an instant. */
  at(subscription_id: number, now_ms: number): Spent | undefined;
  /** Forgets what a subscription was rated at, unless the company's ratings go on. */
  doubt(subscription_id: number, now_ms: number): void;
  /** Notes that other subscriptions may be to be rated. */
  forgetList(): void;
  /** Whether is known which subscriptions are to be rated. */
  isListed(now_ms: number): boolean;
  /** Begins to list them anew: what `forgetList` notes from now on is not in it. Returns the listing. */
  beginList(now_ms: number): number;
  /** Lists some; returns those that were not rated so far. */
  list(ids: readonly number[], listing: number): number[];
  /** Forgets those that were not listed; returns which. */
  endList(listing: number): number[];
  /** Which are to be rated, those first that wait longest. */
  due(now_ms: number): number[];
  /** What comes from now on is not in what is rated next. Returns the rating. */
  begin(ids: readonly number[], now_ms: number): number;
  /** Notes what a rating came to, unless another one of the subscription has begun since, or it was forgotten. */
  put(subscription_id: number, spent: Spent, rating: number): void;
}

/** What is left to a subscription before something is to be told of it. */
export interface Headroom {
  /** Whether some is left still, at an instant; costs some microseconds. */
  isLeft(now_ms: number): boolean;
}

/** The headroom of a company's subscriptions, by their id. */
export type Headrooms = Map<number, Headroom>;

/** Which subscriptions of companies alerts are to look at, and what this process knows to be told. Decision 0256. */
export interface Changes {
  /** Notes that a subscription's usage, or what it comes to, has changed. */
  note(company_id: number, subscription_id: number): void;
  /** Notes that all subscriptions of a company are to be looked at. */
  noteAll(company_id: number): void;
  /** Takes those that have changed, at most so many: what comes from here on is noted again. */
  take(company_id: number, count: number): number[];
  /** Which of the subscriptions may have come to something: those without headroom. */
  withoutHeadroom(company_id: number, ids: readonly number[], now_ms: number): number[];
  /** What is noted of a company until its records may have changed: then it is another map. */
  headroomsOf(company_id: number): Headrooms;
  /** Notes that limits or alerts of a company may be others: nothing is known of headroom. */
  forgetHeadroom(company_id: number): void;
  /**
   * Where looking at all subscriptions is to go on: after which id; undefined when it is not due. It is due again some time
   * after `now_ms`.
   */
  sweepAfter(company_id: number, now_ms: number): number | undefined;
  /** They were looked at up to this id; null: to the last. */
  swept(company_id: number, after_id: number | null): void;
  /** How many steps of a scale are known to be told of a group, the least first; null: of all. */
  stepsTold(scale: string, group: string | null): number;
  noteTold(scale: string, group: string | null, steps: number): void;
  /** How many groups of a scale were told of. */
  groupsTold(scale: string): number;
  /** How much more a company may be told on the day of an instant, UTC. */
  leftToTell(company_id: number, now_ms: number): number;
  countTold(company_id: number, now_ms: number, firings: number): void;
}

/**
 * What checks need in memory: totals of limits, and holds, which mirror rows. A hold ends in the turn of the loop in which
 * the totals come to hold its event. Decision 0236.
 */
export interface LiveLimits {
  readonly changes: Changes;
  /** The running charges of a company's subscriptions. */
  spendingOf(company_id: number): Spending;
  /** Notes that a company's alerts are others: all of its subscriptions are looked at. */
  noteAlerts(company_id: number): void;
  /** Notes that a company's records may say otherwise what is limited, rated and told. */
  noteRecords(company_id: number): void;
  /** The totals of watches, which are set at their first use. */
  totalsOf(watches: readonly KeyedWatch[]): WatchedTotals[];
  /** The keys of a company's watches. */
  watchedKeys(company_id: number): string[];
  /** Ends the watches of these keys. */
  forget(keys: readonly string[]): void;
  /** The units held at an instant, exact. */
  heldAt(now_ms: number, scope: HeldScope): Decimal;
  /** Those reservations of features whose events are stored, but whose rows are there still: the ids. */
  findSettled(tx: ReadTx, feature_ids: readonly number[]): Promise<ReadonlySet<string>>;
  /** The first of these features of which a transaction sees units that are reserved, but by the settled ones. */
  findReserved(
    tx: ReadTx,
    feature_ids: readonly number[],
    settled: ReadonlySet<string>,
  ): Promise<number | undefined>;
  /** How many holds a company has, ended ones too until they are removed. */
  count(company_id: number): number;
  find(company_id: number, reservation_id: string): Hold | undefined;
  /** Whether the company's holds are this process's to know, so that no other can have decided by them until now. */
  decides(company_id: number): Promise<boolean>;
  add(hold: Hold): void;
  remove(company_id: number, reservation_id: string): void;
  /** Removes the holds that have ended, also those whose rows another process has deleted. */
  removeEnded(company_id: number, now_ms: number): void;
  /** Ends holds whose events are stored; their rows are deleted in the background. */
  settle(company_id: number, reservation_ids: readonly string[]): void;
}
