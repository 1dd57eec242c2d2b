import { AppError } from "../../core/errors.ts";
import type { MetadataObject } from "../meter_reader.ts";
import { MeterReader } from "../meter_reader.ts";
import { parseMetadata } from "../metadata.ts";
import type { RunningTotals, Watch, WatchedEvent, WatchedTotals } from "../running_totals.ts";
import { BATCH, completeStored, countStored } from "./count.ts";
import { GroupBudget } from "./group_budget.ts";
import { identityOf, isCutBy, type StoredTotals, termsOf, writeTotals } from "./stored_totals.ts";
import type { EventPlace, NumberedEvent, TotalsSource } from "./totals_source.ts";
import { Watched } from "./watched.ts";
import { TotalsRule, type WindowTotals } from "./window_totals.ts";

/** Watches that are written down in one turn. */
const SECTION = 100;

/** The pauses after a counting that failed: the first, doubled up to the longest. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 60_000;

/** An event of a commit, without what its watches know already. */
export type CommittedEvent = Omit<NumberedEvent, "seq" | "company_id" | "subscription_id">;

/** How the totals begin. */
export interface KeeperOptions {
  /** The number of the last stored event. */
  last_seq: number;
  /** A secret of the hashes of texts. */
  secret: string;
  /** What an earlier process wrote down. */
  stored: readonly StoredTotals[];
  /** The groups of a company that have totals at once; by default `MAX_COMPANY_GROUPS`. */
  max_groups?: number;
  /** More events than this that came since `stored` are counted by the engine, not read one by one. Default a million. */
  read_events?: number;
  onFailure: (error: unknown) => void;
}

/**
 * Keeps the running totals of a store, whatever its engine: it is told of every commit, in their order, and asks the
 * engine to count what was stored before. Decision 0232.
 */
export class TotalsKeeper implements RunningTotals {
  readonly #secret: string;
  readonly #onFailure: (error: unknown) => void;
  /** The first watch of each subscription, by company. */
  readonly #companies = new Map<number, Map<number, Watched>>();
  readonly #budgets = new Map<number, GroupBudget>();
  readonly #max_groups: number | undefined;
  readonly #read_events: number;
  readonly #listeners = new Set<(event: WatchedEvent) => void>();
  #stored: Map<string, StoredTotals>;
  /** To be counted, in the order of their arrival. */
  readonly #waiting = new Set<Watched>();
  /** Those that need events that were removed: they can't be counted. */
  readonly #refused = new Set<Watched>();
  #last_seq: number;
  #source: TotalsSource | undefined;
  #isTrusted = (): boolean => true;
  #running: Promise<void> | undefined;
  #is_used = false;
  #closed = false;
  #wake: (() => void) | undefined;

  constructor({ last_seq, secret, stored, max_groups, read_events = 1_000_000, onFailure }: KeeperOptions) {
    this.#max_groups = max_groups;
    this.#read_events = read_events;
    this.#last_seq = last_seq;
    this.#secret = secret;
    this.#stored = new Map(stored.map((totals) => [totals.identity, totals]));
    this.#onFailure = onFailure;
  }

  /** From now on it counts. `isTrusted`: whether it is told of every commit at this moment, by default for as long as it counts. */
  begin(source: TotalsSource, isTrusted: () => boolean = () => true): void {
    this.#source = source;
    this.#isTrusted = isTrusted;
    this.#count();
  }

  /** It is not told of commits any more: no total is certain, and none is counted, until it begins again. */
  suspend(): void {
    this.#source = undefined;
    this.#wake?.();
    for (const watched of this.#all()) this.#distrust(watched);
  }

  /** Whether it is told of every commit. */
  get is_trusted(): boolean {
    return this.#source === undefined || this.#isTrusted();
  }

  /** Resolves when no counting is under way, and none begins again. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#wake?.();
    await this.#running;
  }

  get last_seq(): number {
    return this.#last_seq;
  }

  /** The same of every company. */
  lastSeqOf(_company_id: number): number {
    return this.#last_seq;
  }

  /** Whether any watch was set: a process that sets none must not write down that there are no totals. */
  get is_used(): boolean {
    return this.#is_used;
  }

  get counts(): { watches: number; uncertain: number } {
    const counts = { watches: 0, uncertain: 0 };
    for (const watched of this.#all()) {
      counts.watches++;
      if (!watched.is_certain) counts.uncertain++;
    }
    return counts;
  }

  watch(watches: readonly Watch[]): WatchedTotals[] {
    const rules = new Map<string, TotalsRule>();
    this.#is_used ||= watches.length > 0;
    const all = watches.map((watch) => {
      refuseUntotaled(watch);
      const terms = JSON.stringify([termsOf(watch.meter), watch.per]);
      const rule =
        rules.get(terms) ?? new TotalsRule(watch, new MeterReader(watch.meter, watch.per), this.#secret);
      rules.set(terms, rule);
      return this.#open(watch, rule);
    });
    this.#count();
    return all;
  }

  #open(watch: Watch, rule: TotalsRule): Watched {
    const { company_id, subscription_id } = watch;
    const budget = this.#budgets.get(company_id) ?? new GroupBudget(this.#max_groups);
    this.#budgets.set(company_id, budget);
    const watched = new Watched(watch, rule, this, budget);
    const stored = this.#stored.get(identityOf(watch));
    if (stored !== undefined && isCutBy(stored, watched)) watched.stored = stored;
    const subscriptions = this.#companies.get(company_id) ?? new Map<number, Watched>();
    this.#companies.set(company_id, subscriptions);
    watched.next = subscriptions.get(subscription_id);
    subscriptions.set(subscription_id, watched);
    this.#waiting.add(watched);
    return watched;
  }

  /** Forgets a watch that was closed. */
  drop(watched: Watched): void {
    const { company_id, subscription_id } = watched.watch;
    this.#waiting.delete(watched);
    this.#refused.delete(watched);
    const subscriptions = this.#companies.get(company_id);
    let first: Watched | undefined;
    for (const other of [...each(subscriptions?.get(subscription_id))].toReversed()) {
      if (other === watched) continue;
      other.next = first;
      first = other;
    }
    if (first === undefined) subscriptions?.delete(subscription_id);
    else subscriptions?.set(subscription_id, first);
    if (subscriptions?.size === 0) this.#companies.delete(company_id);
  }

  async counted(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  listen(listener: (event: WatchedEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  forgetBefore(ms: number): void {
    for (const watched of this.#all()) watched.forgetBefore(ms);
    // A later window may need none of what was removed.
    for (const watched of this.#refused) this.#waiting.add(watched);
    this.#refused.clear();
    this.#count();
  }

  *#all(): Generator<Watched> {
    for (const subscriptions of this.#companies.values())
      for (const first of subscriptions.values()) yield* each(first);
  }

  /** The first watch of each subscription of a company; undefined where there is none, so that a commit costs nothing. */
  watchedOf(company_id: number): ReadonlyMap<number, Watched> | undefined {
    return this.#companies.get(company_id);
  }

  /** Adds an event that was committed to the watches of its subscription. Call `advance` in the same turn. */
  add(first: Watched, event: CommittedEvent): void {
    let object: MetadataObject | undefined;
    for (let watched: Watched | undefined = first; watched !== undefined; watched = watched.next) {
      try {
        if (watched.rule.reader.reads_metadata && object === undefined)
          object = event.metadata === null ? null : parseMetadata(event.metadata);
        watched.add(event, object ?? null);
      } catch (error) {
        // A calendar that fails must not fail a commit.
        this.#onFailure(error);
        this.#distrust(watched);
        this.#count();
      }
    }
    if (this.#listeners.size === 0) return;
    const { company_id, subscription_id } = first.watch;
    for (const listener of this.#listeners) listener({ company_id, subscription_id, id: event.id });
  }

  /** All events up to this number were added. */
  advance(last_seq: number): void {
    this.#last_seq = Math.max(this.#last_seq, last_seq);
  }

  /** Reads what was committed up to a number and not added: by a failed engine, or without events in memory. */
  async catchUp(readEvents: TotalsSource["readEvents"], last_seq: number): Promise<void> {
    const findFirst = ({ company_id, subscription_id }: EventPlace): Watched | undefined =>
      this.#companies.get(company_id)?.get(subscription_id);
    if (this.#companies.size > 0 && last_seq > this.#last_seq) {
      const missed: NumberedEvent[] = [];
      const isWatched = (place: EventPlace): boolean => findFirst(place) !== undefined;
      await readEvents({ after_seq: this.#last_seq, last_seq }, isWatched, (event) => missed.push(event));
      // All or none: reading may fail.
      for (const event of missed) {
        const first = findFirst(event);
        if (first !== undefined) this.add(first, event);
      }
    }
    this.advance(last_seq);
  }

  /** The company's totals are counted anew; `metadata`: those that read metadata. */
  recount(company_id: number, { metadata = false } = {}): void {
    for (const first of this.#companies.get(company_id)?.values() ?? [])
      for (const watched of each(first))
        if (!metadata || watched.rule.reader.reads_metadata) this.#distrust(watched);
    this.#count();
  }

  #distrust(watched: Watched): void {
    watched.distrust();
    this.#waiting.add(watched);
  }

  /** The certain totals to be written down, in parts that are each of one instant. */
  *sections(): Generator<StoredTotals[]> {
    // What nobody has watched by now is forgotten.
    this.#stored = new Map();
    let section: StoredTotals[] = [];
    for (const watched of this.#all()) {
      if (watched.is_certain) section.push(writeTotals(watched, this.#last_seq));
      else if (watched.stored !== undefined) section.push(watched.stored);
      if (section.length < SECTION) continue;
      yield section;
      section = [];
    }
    if (section.length > 0) yield section;
  }

  #count(): void {
    if (this.#running !== undefined || this.#source === undefined || this.#closed) return;
    if (this.#waiting.size > 0) this.#running = this.#countAll(this.#source);
  }

  async #countAll(source: TotalsSource): Promise<void> {
    const mayGoOn = (): boolean => !this.#closed && this.#source === source;
    for (let pause_ms = FIRST_PAUSE_MS; this.#waiting.size > 0 && mayGoOn(); ) {
      const batch = this.#nextBatch();
      try {
        await this.#countBatch(source, batch);
        pause_ms = FIRST_PAUSE_MS;
      } catch (error) {
        for (const watched of batch) if (this.#isOpen(watched)) this.#waiting.add(watched);
        if (!mayGoOn()) break;
        this.#onFailure(error);
        await this.#pause(pause_ms);
        pause_ms = Math.min(2 * pause_ms, LONGEST_PAUSE_MS);
      }
    }
    this.#running = undefined;
    // It may have begun again meanwhile.
    this.#count();
  }

  /** All that were written down; else some of one company. */
  #nextBatch(): Watched[] {
    const waiting = [...this.#waiting];
    const stored = waiting.filter((watched) => watched.stored !== undefined);
    if (stored.length > 0) return stored;
    const company_id = waiting[0]?.watch.company_id;
    return waiting.filter(({ watch }) => watch.company_id === company_id).slice(0, BATCH);
  }

  #isOpen(watched: Watched): boolean {
    const { company_id, subscription_id } = watched.watch;
    return [...each(this.#companies.get(company_id)?.get(subscription_id))].includes(watched);
  }

  async #countBatch(source: TotalsSource, batch: readonly Watched[]): Promise<void> {
    const last_seq = this.#last_seq;
    const stored = batch.flatMap((watched) => (watched.stored ? [[watched, watched.stored] as const] : []));
    // In one turn: what is committed from here on is added to them, all before is counted.
    const countings = new Map(batch.map((watched) => [watched, watched.begin()]));
    for (const watched of batch) this.#waiting.delete(watched);
    if (stored.length > 0)
      return this.#join(countings, await completeStored(source, stored, last_seq, this.#read_events));
    const company_id = batch[0]?.watch.company_id ?? 0;
    const countable = this.#countable(source, company_id, batch);
    if (countable.length === 0) return;
    const counts = await countStored(
      source,
      company_id,
      countable.map((watched) => [watched, 0]),
      last_seq,
    );
    // Events may have been removed before they were counted.
    const counted = new Set(this.#countable(source, company_id, countable));
    this.#join(countings, new Map([...counts].filter(([watched]) => counted.has(watched))));
  }

  #join(countings: ReadonlyMap<Watched, number>, counts: ReadonlyMap<Watched, WindowTotals>): void {
    for (const [watched, totals] of counts) watched.join(countings.get(watched) ?? 0, totals);
  }

  /** Those of a company that need no event that was removed; the others are refused. */
  #countable(source: TotalsSource, company_id: number, batch: readonly Watched[]): Watched[] {
    const since_ms = source.sinceOf(company_id);
    return batch.filter((watched) => {
      if (watched.reads_from_ms >= since_ms) return true;
      if (this.#isOpen(watched)) this.#refused.add(watched);
      return false;
    });
  }

  async #pause(pause_ms: number): Promise<void> {
    if (this.#closed) return;
    const ended = Promise.withResolvers<void>();
    const timer = setTimeout(() => ended.resolve(), pause_ms);
    this.#wake = () => ended.resolve();
    await ended.promise;
    clearTimeout(timer);
    this.#wake = undefined;
  }
}

/** The watches of a subscription. */
function* each(first: Watched | undefined): Generator<Watched> {
  for (let watched = first; watched !== undefined; watched = watched.next) yield watched;
}

function refuseUntotaled({ meter: { aggregation } }: Watch): void {
  if (aggregation !== "average" && aggregation !== "percentile") return;
  throw new AppError("invalid", `Cannot keep a running total of ${aggregation}: it has none`);
}
