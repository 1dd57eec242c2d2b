import { HOUR_MS } from "../../time_buckets.ts";
import type { KeptSince } from "../../removals.ts";
import type { Bounds, ClickHouse } from "../engine/engine.ts";
import { asNumber, integer } from "../engine/sql.ts";
import { HOUR } from "../query/filters.ts";

/** The removed events of a company, Unix ms: all before `removed_ms`, the first and last of them, and where its events begin. */
export interface RemovedRange {
  readonly since_ms: number;
  readonly removed_ms: number;
  readonly first_ms: number;
  readonly last_ms: number;
}

/** How long a removal may take. */
const REMOVAL_MS = 600_000;

/** How long sums may be written down: less than it takes until a lane has another owner, which writes them, too. */
const KEEPING_S = 8;

const DURABLE = { async_insert: 0, wait_end_of_query: 1 } as const;

/**
 * Where the events of companies begin whose earlier ones are refused (`since_ms`), and up to where they were removed
 * (`removed_ms`): below that, what counts are the sums that were kept. Both only grow.
 */
export class Removals {
  readonly #engine: ClickHouse;
  readonly #since = new Map<number, number>();
  readonly #removed = new Map<number, RemovedRange>();

  private constructor(engine: ClickHouse) {
    this.#engine = engine;
  }

  static async open(engine: ClickHouse): Promise<Removals> {
    const removals = new Removals(engine);
    await removals.refresh();
    return removals;
  }

  /** Reads what other instances have closed and removed, of a company or of all. */
  async refresh(of_company?: number): Promise<void> {
    const where = of_company === undefined ? "" : `WHERE company_id = ${integer(of_company)}`;
    const rows = await this.#engine.ask(
      `SELECT company_id, max(since_ms), max(removed_ms), min(first_ms), max(last_ms) FROM usage_kept_since ${where}
      GROUP BY company_id`,
      { timeout_ms: REMOVAL_MS },
    );
    for (const row of rows) {
      const [company_id = 0, since_ms = 0, removed_ms = 0, first_ms = 0, last_ms = 0] = row.map(asNumber);
      this.#learn(company_id, { since_ms, removed_ms, first_ms, last_ms });
    }
  }

  sinceOf(company_id: number): number {
    return this.#since.get(company_id) ?? 0;
  }

  /** Undefined where no event was removed. */
  rangeOf(company_id: number): RemovedRange | undefined {
    return this.#removed.get(company_id);
  }

  /** Up to where events were removed; 0: nowhere. */
  removedOf(company_id: number): number {
    return this.#removed.get(company_id)?.removed_ms ?? 0;
  }

  async close(company_id: number, since_ms: number): Promise<void> {
    await this.record(company_id, { ...(this.rangeOf(company_id) ?? NOTHING), since_ms });
  }

  /** The oldest whole hours with about `limit` events before the company's begin; undefined where there are none. */
  async findPortion(
    company_id: number,
    limit: number,
  ): Promise<{ until_ms: number; events: number } | undefined> {
    const rows = await this.#engine.ask(
      `SELECT ${HOUR} AS hour, count() FROM usage_events WHERE company_id = ${integer(company_id)}
        AND ${HOUR} >= ${integer(this.removedOf(company_id) / HOUR_MS)}
        AND ${HOUR} < ${integer(this.sinceOf(company_id) / HOUR_MS)}
      GROUP BY hour ORDER BY hour LIMIT ${integer(limit)}`,
      { timeout_ms: REMOVAL_MS },
    );
    let [until_ms, events] = [0, 0];
    for (const [hour, count] of rows) {
      if (events >= limit) break;
      until_ms = (asNumber(hour) + 1) * HOUR_MS;
      events += asNumber(count);
    }
    return events === 0 ? undefined : { until_ms, events };
  }

  /** Keeps the sums of the events before `until_ms`, and from then on only these count. */
  async keep(company_id: number, until_ms: number): Promise<void> {
    const from_ms = this.removedOf(company_id);
    const hours = `company_id = ${integer(company_id)} AND hour >= ${integer(from_ms / HOUR_MS)}`;
    // What a removal kept that was broken off counts nowhere yet.
    const [[left = 0] = []] = await this.#engine.ask(`SELECT count() FROM usage_kept_hours WHERE ${hours}`, {
      timeout_ms: REMOVAL_MS,
    });
    // What counts by the time the statement runs stays: an owner that was stalled knows of an earlier one.
    if (asNumber(left) > 0)
      await this.#engine.run(
        `ALTER TABLE usage_kept_hours DELETE WHERE ${hours} AND hour >= (
          SELECT intDiv(max(removed_ms), ${HOUR_MS}) FROM usage_kept_since WHERE company_id = ${integer(company_id)})`,
        REMOVAL_MS,
        { mutations_sync: "2" },
      );
    await this.#engine.run(
      `INSERT INTO usage_kept_hours SELECT company_id, subscription_id, ${HOUR} AS hour, sum(usage), count(), min(usage),
        max(usage), countIf(usage < 0)
      FROM usage_events WHERE company_id = ${integer(company_id)}
        AND timestamp >= ${integer(from_ms)} AND timestamp < ${integer(until_ms)}
      GROUP BY company_id, subscription_id, hour`,
      REMOVAL_MS,
      { ...DURABLE, max_execution_time: KEEPING_S },
    );
    const [[first = 0, last = 0] = []] = await this.#engine.ask(
      `SELECT min(timestamp), max(timestamp) FROM usage_events WHERE company_id = ${integer(company_id)}
        AND timestamp >= ${integer(from_ms)} AND timestamp < ${integer(until_ms)}`,
      { timeout_ms: REMOVAL_MS },
    );
    const { first_ms } = this.rangeOf(company_id) ?? NOTHING;
    await this.record(company_id, {
      since_ms: this.sinceOf(company_id),
      removed_ms: until_ms,
      first_ms: Math.min(first_ms, asNumber(first)),
      last_ms: asNumber(last),
    });
  }

  /** Removes the events whose sums are kept. */
  async sweep(company_id: number, lane: number): Promise<void> {
    const where = `company_id = ${integer(company_id)} AND timestamp < ${integer(this.removedOf(company_id))}`;
    const [[left = 0] = []] = await this.#engine.ask(
      `SELECT count() FROM (SELECT 1 FROM usage_events WHERE ${where} LIMIT 1)`,
      { timeout_ms: REMOVAL_MS },
    );
    if (asNumber(left) === 0) return;
    const sql = `ALTER TABLE usage_events DELETE IN PARTITION ${integer(lane)} WHERE ${where}`;
    await this.#engine.run(sql, REMOVAL_MS, { mutations_sync: "2" });
  }

  /** Where the events of each company begin that was closed. */
  all(): KeptSince[] {
    return [...this.#since]
      .map(([company_id, since_ms]) => ({ company_id, since_ms }))
      .toSorted((a, b) => a.company_id - b.company_id);
  }

  /** Writes down where the events of a company begin, and what was removed of them. */
  async record(company_id: number, removed: RemovedRange): Promise<void> {
    const { since_ms, removed_ms, first_ms, last_ms } = removed;
    const values = [company_id, since_ms, removed_ms, first_ms, last_ms].map(integer).join(", ");
    await this.#engine.run(`INSERT INTO usage_kept_since VALUES (${values})`, REMOVAL_MS, DURABLE);
    this.#learn(company_id, removed);
  }

  /** What was read may be older than what is known. */
  #learn(company_id: number, { since_ms, removed_ms, first_ms, last_ms }: RemovedRange): void {
    this.#since.set(company_id, Math.max(this.sinceOf(company_id), since_ms));
    const known = this.rangeOf(company_id) ?? NOTHING;
    if (removed_ms <= known.removed_ms && (removed_ms === 0 || since_ms <= known.since_ms)) return;
    this.#removed.set(company_id, {
      since_ms: Math.max(known.since_ms, since_ms),
      removed_ms: Math.max(known.removed_ms, removed_ms),
      first_ms: Math.min(known.first_ms, first_ms),
      last_ms: Math.max(known.last_ms, last_ms),
    });
  }
}

/** The range of no removed events. */
const NOTHING: RemovedRange = { since_ms: 0, removed_ms: 0, first_ms: Number.MAX_SAFE_INTEGER, last_ms: 0 };

/** SQL of the sums that were kept of a company: those that count. */
export function keptWhereSql(company_id: number, removed_ms: number): string {
  return `company_id = ${integer(company_id)} AND hour < ${integer(removed_ms / HOUR_MS)}`;
}

/** As `UsageStore.exportKept`, in Parquet. */
export function exportKept(engine: ClickHouse, bounds: Bounds): AsyncGenerator<Uint8Array> {
  return engine.bytes(
    `SELECT toInt32(company_id) AS company_id, toInt32(subscription_id) AS subscription_id, toInt32(hour) AS hour, total,
      toInt64(events) AS events, low, high, toInt64(corrections) AS corrections
    FROM usage_kept_hours AS kept
    JOIN (SELECT company_id, max(removed_ms) AS removed_ms FROM usage_kept_since GROUP BY company_id) AS since
      USING (company_id)
    WHERE hour < intDiv(removed_ms, ${HOUR_MS}) ORDER BY company_id, hour FORMAT Parquet`,
    bounds,
  );
}
