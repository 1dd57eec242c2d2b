import type { DuckDBConnection } from "@duckdb/node-api";
import { sum } from "../../../core/money.ts";
import type { UsageWindow, WindowSum } from "../../port.ts";
import { whereSql } from "./filters.ts";
import { asDecimal, asNumber, Parameters, query } from "../engine/sql.ts";
import { windowsSql } from "./windows.ts";
import { minimum, spanOf } from "../../windows.ts";

/** The capacity of the cache: the windows used last. */
const CACHED_WINDOWS = 20_000;

/** A window's sum, with the number of its last event. */
interface CachedSum extends WindowSum {
  seq: number;
}

const NOTHING: CachedSum = { units: "0", event_count: 0, corrections: 0, seq: 0 };

/**
 * A cache of window sums: events never change, and are numbered in the order of commits, so that a query which saw one
 * event saw all with lower numbers, and the next one reads only the events after it. The tables keep the newest events
 * apart, and the engine skips the rest by their numbers.
 */
export class WindowSums {
  readonly #cached = new Map<string, CachedSum>();

  /** The current sums, in the order of the windows. */
  async find(
    connection: DuckDBConnection,
    company_id: number,
    windows: readonly UsageWindow[],
  ): Promise<WindowSum[]> {
    if (windows.length === 0) return [];
    const keys = windows.map(
      ({ subscription_id, start_ms, end_ms }) => `${company_id} ${subscription_id} ${start_ms} ${end_ms}`,
    );
    const result = keys.map((key) => this.#cached.get(key) ?? NOTHING);
    const parameters = new Parameters();
    for (const [position, units, events, corrections, seq] of await query(
      connection,
      sumsSql(company_id, windows, result, parameters),
      parameters,
    )) {
      const place = asNumber(position);
      const cached = result[place] ?? NOTHING;
      result[place] = {
        units: sum([cached.units, asDecimal(units)]),
        event_count: cached.event_count + asNumber(events),
        corrections: cached.corrections + asNumber(corrections),
        seq: asNumber(seq),
      };
    }
    for (const [place, key] of keys.entries()) this.#remember(key, result[place] ?? NOTHING);
    return result.map(({ units, event_count, corrections }) => ({ units, event_count, corrections }));
  }

  #remember(key: string, cached: CachedSum): void {
    // Of two concurrent queries the later result may be older.
    const other = this.#cached.get(key);
    this.#cached.delete(key);
    this.#cached.set(key, other && other.seq > cached.seq ? other : cached);
    if (this.#cached.size <= CACHED_WINDOWS) return;
    const [oldest] = this.#cached.keys();
    if (oldest !== undefined) this.#cached.delete(oldest);
  }
}

/** Sums the windows' events after the cached ones; of several windows by one join. */
function sumsSql(
  company_id: number,
  windows: readonly UsageWindow[],
  cached: readonly CachedSum[],
  parameters: Parameters,
): string {
  const subscription_ids = [...new Set(windows.map(({ subscription_id }) => subscription_id))];
  const after_seq = cached.map(({ seq }) => seq);
  // The bounds of all windows are plain conditions, by which the engine skips blocks.
  const where = `${whereSql({ company_id, subscription_ids, ...spanOf(windows) }, parameters)}
    AND seq > ${parameters.integer(minimum(after_seq))}`;
  if (windows.length === 1) {
    return `SELECT 0, sum(usage)::VARCHAR, count(*) AS events, count(*) FILTER (usage < 0), max(seq) FROM usage_events WHERE ${where}
      HAVING events > 0`;
  }
  return `SELECT position, sum(usage)::VARCHAR, count(*), count(*) FILTER (usage < 0), max(seq)
    FROM (SELECT subscription_id, timestamp, usage, seq FROM usage_events WHERE ${where}) AS event
    JOIN (${windowsSql(windows, parameters, { after_seq })}) AS windows
      ON event.subscription_id = windows.subscription_id
        AND timestamp >= windows.start_ms AND timestamp < windows.end_ms AND seq > windows.after_seq
    GROUP BY position`;
}
