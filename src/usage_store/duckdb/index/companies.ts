import type { DuckDBConnection } from "@duckdb/node-api";
import { HOUR_MS } from "../../time_buckets.ts";
import type { EventFilter } from "../../port.ts";
import type { TimeRange } from "../../query/time_range.ts";
import { readSince } from "../maintain/removal.ts";
import { asNumber, query } from "../engine/sql.ts";

/** What is known of a company's stored events without asking the engine. */
interface CompanyFacts extends TimeRange {
  events: number;
  /** The last timestamp since the opening, 0 for none. */
  newest: number;
  /** Whether `max_timestamp` is up to an hour later than the last event. */
  is_rough: boolean;
}

const NOTHING: Readonly<CompanyFacts> = {
  events: 0,
  min_timestamp: 0,
  max_timestamp: 0,
  newest: 0,
  is_rough: false,
};

/** What is known of each company's events: queries leave out bounds that exclude nothing, and read few in other ways. */
export class Companies {
  readonly #known = new Map<number, CompanyFacts>();
  /** Where the events of companies begin whose earlier ones were removed. */
  readonly #since = new Map<number, number>();
  readonly #all: TimeRange = { min_timestamp: HOUR_MS, max_timestamp: 0 };
  readonly #few_events: number;

  private constructor(few_events: number) {
    this.#few_events = few_events;
  }

  /**
   * By the sums by hour, which are fewer than the events: a range is up to an hour wider on both sides, and holds removed
   * events too. `few_events`: below it there are few.
   */
  static async read(connection: DuckDBConnection, few_events: number): Promise<Companies> {
    const companies = new Companies(few_events);
    for (const row of await query(
      connection,
      `SELECT company_id, sum(events)::BIGINT, min(hour), max(hour) FROM (
        SELECT company_id, events, hour FROM usage_hours UNION ALL SELECT company_id, events, hour FROM usage_kept_hours)
      GROUP BY company_id`,
    )) {
      const [company_id = 0, events = 0, first = 0, last = 0] = row.map(asNumber);
      const range = { min_timestamp: first * HOUR_MS, max_timestamp: (last + 1) * HOUR_MS - 1 };
      companies.#known.set(company_id, { ...range, events, newest: 0, is_rough: true });
      widen(companies.#all, range.min_timestamp);
      widen(companies.#all, range.max_timestamp);
    }
    for (const [company_id, since_ms] of await readSince(connection)) companies.beginAt(company_id, since_ms);
    return companies;
  }

  /** Where the company's events begin: earlier ones were removed, or are about to be. 0: nowhere. */
  sinceOf(company_id: number): number {
    return this.#since.get(company_id) ?? 0;
  }

  beginAt(company_id: number, since_ms: number): void {
    this.#since.set(company_id, since_ms);
  }

  /** Whether the query asks for times of the company's that are, or were, before its events begin. */
  reachBeyond({ company_id, start_ms = 0 }: EventFilter): boolean {
    const since_ms = this.sinceOf(company_id);
    return start_ms < since_ms && this.rangeOf(company_id).min_timestamp < since_ms;
  }

  /** From the first event of all companies to the last; the first is above the last when there are none. */
  get range(): TimeRange {
    return this.#all;
  }

  /** The range of a company's events. */
  rangeOf(company_id: number): TimeRange {
    return this.#known.get(company_id) ?? NOTHING;
  }

  /** Whether few events are within the filter's bounds of time, were they spread evenly, each with this `weight`. */
  haveFew(filter: EventFilter, weight = 1): boolean {
    return this.eventsWithin(filter) * weight < this.#few_events;
  }

  /** About how many events a filter's time holds, if they are spread evenly. */
  eventsWithin({ company_id, start_ms = 0, end_ms = Number.MAX_SAFE_INTEGER }: EventFilter): number {
    const { events, min_timestamp, max_timestamp } = this.#known.get(company_id) ?? NOTHING;
    const ms = Math.min(end_ms, max_timestamp + 1) - Math.max(start_ms, min_timestamp);
    const share = Math.max(ms, 0) / (max_timestamp + 1 - min_timestamp);
    return events * share;
  }

  /** Widens the ranges by those of events. Call before a commit, so that no query finds an event outside of it. */
  widenBy(company_id: number, events: readonly { timestamp: number }[]): void {
    let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const { timestamp } of events) {
      if (timestamp < first) first = timestamp;
      if (timestamp > last) last = timestamp;
    }
    if (events.length === 0) return;
    this.widen(company_id, first);
    this.widen(company_id, last);
  }

  /** As `widenBy`, by one event's timestamp. */
  widen(company_id: number, timestamp: number): void {
    widen(this.#all, timestamp);
    let facts = this.#known.get(company_id);
    if (facts === undefined) {
      facts = { ...NOTHING, min_timestamp: timestamp };
      this.#known.set(company_id, facts);
    }
    widen(facts, timestamp);
    facts.newest = Math.max(facts.newest, timestamp);
  }

  /**
   * Finds out the last timestamp, once, if that tells whether the filter's end excludes anything: until then it is known
   * by the hour.
   */
  async refine(connection: DuckDBConnection, { company_id, end_ms }: EventFilter): Promise<void> {
    const facts = this.#known.get(company_id);
    if (facts?.is_rough !== true || end_ms === undefined || end_ms > facts.max_timestamp) return;
    const hour_ms = Math.floor(facts.max_timestamp / HOUR_MS) * HOUR_MS;
    if (end_ms <= hour_ms) return;
    const [[last = null] = []] = await query(
      connection,
      `SELECT max(timestamp) FROM usage_events WHERE company_id = ${company_id} AND timestamp >= ${hour_ms}`,
    );
    facts.is_rough = false;
    // Events that were stored meanwhile are in `newest`.
    if (last !== null) facts.max_timestamp = Math.max(asNumber(last), facts.newest);
  }

  /** Counts events that were stored. */
  count(company_id: number, events: number): void {
    const facts = this.#known.get(company_id);
    if (facts !== undefined) facts.events += events;
  }
}

function widen(range: TimeRange, timestamp: number): void {
  if (timestamp < range.min_timestamp) range.min_timestamp = timestamp;
  if (timestamp > range.max_timestamp) range.max_timestamp = timestamp;
}
