import type { DuckDBConnection } from "@duckdb/node-api";
import { HOUR_MS } from "../../time_buckets.ts";
import type { Engine } from "../engine/engine.ts";
import type { AppendDecision } from "../../append/deduplicate.ts";
import { usageOf } from "../../append/append_request.ts";
import type { HotTable } from "../engine/schema.ts";
import type { SumsCheck } from "../../port.ts";
import { asNumber, decimalSql, Parameters, query } from "../engine/sql.ts";

/** The sum of events of one company and UTC hour; usages in millionths, as numbers where these are exact. */
interface HourSum {
  company_id: number;
  hour: number;
  total: number | bigint;
  events: number;
  low: number | bigint;
  high: number | bigint;
}

/** The hour sums of the new events of all decisions. */
export function hourSums(decisions: readonly AppendDecision[]): HourSum[] {
  const companies = new Map<number, Map<number, HourSum>>();
  for (const { request, fresh } of decisions) {
    const { company_id, events } = request;
    const hours = companies.get(company_id) ?? new Map<number, HourSum>();
    companies.set(company_id, hours);
    for (const position of fresh) {
      const hour = Math.floor((events[position]?.timestamp ?? 0) / HOUR_MS);
      const usage = usageOf(request, position);
      const sum = hours.get(hour);
      if (sum === undefined) {
        hours.set(hour, { company_id, hour, total: usage, events: 1, low: usage, high: usage });
        continue;
      }
      sum.total = add(sum.total, usage);
      sum.events++;
      if (usage < sum.low) sum.low = usage;
      if (usage > sum.high) sum.high = usage;
    }
  }
  return [...companies.values()].flatMap((hours) => [...hours.values()]);
}

function add(a: number | bigint, b: number | bigint): number | bigint {
  if (typeof a === "number" && typeof b === "number" && Number.isSafeInteger(a + b)) return a + b;
  return BigInt(a) + BigInt(b);
}

/** More rows than this are cheaper to compute in the engine than to parse. */
const MAX_VALUES = 32;

/**
 * SQL that stores a commit's hour sums, `seq` being the number of its last event: a row each, if there are few. Not by
 * an appender, which would run its insert on this thread.
 */
export function insertSums(sums: readonly HourSum[], seq: number): string | undefined {
  if (sums.length > MAX_VALUES) return undefined;
  const rows = sums.map(({ company_id, hour, total, events, low, high }) => {
    const usages = [total, low, high].map(decimalSql);
    return `(${company_id}, ${hour}, ${usages[0]}, ${events}, ${usages[1]}, ${usages[2]}, ${seq})`;
  });
  return `INSERT INTO usage_hour_deltas VALUES ${rows.join(", ")}`;
}

/** SQL that stores the hour sums of the rows from `first_seq` on in a table. */
export function insertSumsOf(table: HotTable, first_seq: number): string {
  return `INSERT INTO usage_hour_deltas
    SELECT ${SUMMED} FROM ${table} WHERE seq >= ${first_seq} GROUP BY company_id, hour`;
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
