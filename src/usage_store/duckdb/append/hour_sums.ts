import { type DuckDBConnection, DuckDBDataChunk, DuckDBDecimalValue } from "@duckdb/node-api";
import { HOUR_MS } from "../../time_buckets.ts";
import { appendChunks } from "./append_chunks.ts";
import type { Engine } from "../engine/engine.ts";
import type { AppendDecision } from "./deduplicate.ts";
import { HOUR_COLUMNS, TOTAL_TYPE, USAGE_TYPE } from "../engine/schema.ts";
import type { SumsCheck } from "../../port.ts";
import { asNumber, Parameters, query } from "../engine/sql.ts";

/** The sum of events of one company and UTC hour; usages in millionths. */
interface HourSum {
  company_id: number;
  hour: number;
  total: bigint;
  events: number;
  low: bigint;
  high: bigint;
}

const TYPES = Object.values(HOUR_COLUMNS);

/** The hour sums of the new events of all decisions. */
export function hourSums(decisions: readonly AppendDecision[]): HourSum[] {
  const companies = new Map<number, Map<number, HourSum>>();
  for (const { request, fresh } of decisions) {
    const { company_id, events, millionths } = request;
    const hours = companies.get(company_id) ?? new Map<number, HourSum>();
    companies.set(company_id, hours);
    for (const position of fresh) {
      const hour = Math.floor((events[position]?.timestamp ?? 0) / HOUR_MS);
      const usage = millionths[position] ?? 0n;
      const sum = hours.get(hour);
      if (sum === undefined) {
        hours.set(hour, { company_id, hour, total: usage, events: 1, low: usage, high: usage });
        continue;
      }
      sum.total += usage;
      sum.events++;
      if (usage < sum.low) sum.low = usage;
      if (usage > sum.high) sum.high = usage;
    }
  }
  return [...companies.values()].flatMap((hours) => [...hours.values()]);
}

/** Appends sums as deltas within the open transaction. `seq`: the number of the last event in them. */
export function appendHourSums(
  connection: DuckDBConnection,
  sums: readonly HourSum[],
  seq: number,
): Promise<void> {
  return appendChunks(connection, "usage_hour_deltas", sums.length, (start, end) => {
    const chunk = DuckDBDataChunk.create(TYPES, end - start);
    const vectors = TYPES.map((_, column) => chunk.getColumnVector(column));
    const [companies, hours, totals, events, lows, highs, seqs] = vectors;
    sums.slice(start, end).forEach((sum, row) => {
      companies?.setItem(row, sum.company_id);
      hours?.setItem(row, sum.hour);
      totals?.setItem(row, new DuckDBDecimalValue(sum.total, TOTAL_TYPE.width, TOTAL_TYPE.scale));
      events?.setItem(row, BigInt(sum.events));
      lows?.setItem(row, new DuckDBDecimalValue(sum.low, USAGE_TYPE.width, USAGE_TYPE.scale));
      highs?.setItem(row, new DuckDBDecimalValue(sum.high, USAGE_TYPE.width, USAGE_TYPE.scale));
      seqs?.setItem(row, BigInt(seq));
    });
    for (const vector of vectors) vector.flush();
    return chunk;
  });
}

/** SQL of an event's UTC hour, counted since 1970. */
export const HOUR_OF_EVENT = `(timestamp // ${HOUR_MS})::INTEGER`;
/** SQL that adds up rows of sums. */
export const ADDED_SUMS = `sum(total)::DECIMAL(38,6) AS total, sum(events)::BIGINT AS events, min(low) AS low,
  max(high) AS high`;
/** SQL that sums events. */
export const EVENT_SUMS = `sum(usage)::DECIMAL(38,6) AS total, count(*) AS events, min(usage) AS low,
  max(usage) AS high`;
/** SQL that adds up rows of sums by hour. */
const FOLDED = `company_id, hour, ${ADDED_SUMS}, max(seq) AS seq`;
/** SQL that sums events by hour. */
export const SUMMED = `company_id, ${HOUR_OF_EVENT} AS hour, ${EVENT_SUMS}, max(seq) AS seq`;

/** Folds the deltas of commits up to `last_seq`, within the open transaction. */
export async function foldDeltas(connection: DuckDBConnection, last_seq: number): Promise<void> {
  await connection.run(`INSERT INTO usage_hour_folds
    SELECT ${FOLDED} FROM usage_hour_deltas WHERE seq <= ${last_seq}
    GROUP BY company_id, hour ORDER BY company_id, hour`);
  await connection.run(`DELETE FROM usage_hour_deltas WHERE seq <= ${last_seq}`);
}

/** Merges each hour's folds into one row, in order, in a transaction of its own. Returns their count. */
export async function refold(engine: Engine, connection: DuckDBConnection): Promise<number> {
  await engine.transact(connection, "background", async () => {
    await connection.run(`CREATE OR REPLACE TEMP TABLE refolded AS
      SELECT ${FOLDED} FROM usage_hour_folds GROUP BY company_id, hour`);
    await connection.run("DELETE FROM usage_hour_folds");
    await connection.run("INSERT INTO usage_hour_folds FROM refolded ORDER BY company_id, hour");
    await connection.run("DROP TABLE refolded");
  });
  return countFolds(connection);
}

export async function countFolds(connection: DuckDBConnection): Promise<number> {
  const [[count] = []] = await query(connection, "SELECT count(*) FROM usage_hour_folds");
  return asNumber(count);
}

/** Compares every hour's sums with its events, by one statement and thus of one instant. */
export async function checkHours(
  connection: DuckDBConnection,
  company_id: number | null,
): Promise<SumsCheck> {
  const parameters = new Parameters();
  const where = company_id === null ? "" : `WHERE company_id = ${parameters.integer(company_id)}`;
  const columns = ["total", "events", "low", "high"];
  const [row = []] = await query(
    connection,
    `WITH sums AS (SELECT ${FOLDED} FROM usage_hours ${where} GROUP BY company_id, hour),
      raw AS (SELECT ${SUMMED} FROM usage_events ${where} GROUP BY company_id, hour)
    SELECT count(*), coalesce(sum(raw.events), 0)::BIGINT,
      count(*) FILTER (${columns.map((name) => `sums.${name} IS DISTINCT FROM raw.${name}`).join(" OR ")})
    FROM sums FULL JOIN raw USING (company_id, hour)`,
    parameters,
  );
  const [hours = 0, events = 0, different = 0] = row.map(asNumber);
  return { hours, events, different };
}

/** Rebuilds the sums from the events, in a transaction of its own; nothing may be appended meanwhile. */
export async function rebuildHours(engine: Engine, connection: DuckDBConnection): Promise<void> {
  await engine.transact(connection, "background", async () => {
    await connection.run("DELETE FROM usage_hour_deltas");
    await connection.run("DELETE FROM usage_hour_folds");
    await connection.run(`INSERT INTO usage_hour_folds
      SELECT ${SUMMED} FROM usage_events GROUP BY company_id, hour ORDER BY company_id, hour`);
  });
}
