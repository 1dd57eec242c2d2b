import type { DuckDBConnection } from "@duckdb/node-api";
import { sum } from "../../../core/money.ts";
import type { UsageWindow, WindowSum } from "../../port.ts";
import { whereSql } from "./filters.ts";
import { asDecimal, asNumber, Parameters, query } from "../engine/sql.ts";
import { least, spanOf, windowsSql } from "./windows.ts";

/** Windows that are remembered: those asked for last. */
const KNOWN_WINDOWS = 20_000;

/** A window's sum, and the number of the last event in it. */
interface KnownSum extends WindowSum {
  seq: number;
}

const NOTHING: KnownSum = { units: "0", event_count: 0, corrections: 0, seq: 0 };

/**
 * The sums of windows, each remembered: events are never changed, and are numbered in the order of their
 * commits, so that a question which saw one event saw all with lower numbers, and the next one need only read
 * the events after it. The tables keep the newest events apart, and the engine skips the rest by their numbers.
 */
export class WindowSums {
  readonly #known = new Map<string, KnownSum>();

  /** The sums by now, in the order of the windows. */
  async ask(
    connection: DuckDBConnection,
    company_id: number,
    windows: readonly UsageWindow[],
  ): Promise<WindowSum[]> {
    if (windows.length === 0) return [];
    const keys = windows.map(
      ({ subscription_id, start_ms, end_ms }) => `${company_id} ${subscription_id} ${start_ms} ${end_ms}`,
    );
    const result = keys.map((key) => this.#known.get(key) ?? NOTHING);
    const parameters = new Parameters();
    for (const [position, units, events, corrections, seq] of await query(
      connection,
      sumsSql(company_id, windows, result, parameters),
      parameters,
    )) {
      const place = asNumber(position);
      const known = result[place] ?? NOTHING;
      result[place] = {
        units: sum([known.units, asDecimal(units)]),
        event_count: known.event_count + asNumber(events),
        corrections: known.corrections + asNumber(corrections),
        seq: asNumber(seq),
      };
    }
    for (const [place, key] of keys.entries()) this.#remember(key, result[place] ?? NOTHING);
    return result.map(({ units, event_count, corrections }) => ({ units, event_count, corrections }));
  }

  #remember(key: string, known: KnownSum): void {
    // Of two questions at once the later answer may know less.
    const other = this.#known.get(key);
    this.#known.delete(key);
    this.#known.set(key, other && other.seq > known.seq ? other : known);
    if (this.#known.size <= KNOWN_WINDOWS) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }
}

/** The events of the windows that are not in what is known of them; of several windows by one join. */
function sumsSql(
  company_id: number,
  windows: readonly UsageWindow[],
  known: readonly KnownSum[],
  parameters: Parameters,
): string {
  const subscription_ids = [...new Set(windows.map(({ subscription_id }) => subscription_id))];
  const after_seq = known.map(({ seq }) => seq);
  // What bounds all windows stands as plain conditions, by which the engine skips blocks.
  const where = `${whereSql({ company_id, subscription_ids, ...spanOf(windows) }, parameters)}
    AND seq > ${parameters.integer(least(after_seq))}`;
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
