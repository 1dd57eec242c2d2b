import { rm, stat } from "node:fs/promises";
import type { DuckDBConnection, DuckDBDataChunk } from "@duckdb/node-api";
import { chunks, nextTurn } from "../../../core/chunk.ts";
import type { Write } from "../../../core/download.ts";
import type { ExportOptions, ExportQuery } from "../../port.ts";
import { whereSql } from "./filters.ts";
import type { AppError } from "../../../core/errors.ts";
import {
  assertSorted,
  LINE_FORMATS,
  noRoom,
  sendFile,
  tooLarge,
  writePieces,
} from "../../query/export_file.ts";
import { asNumber, asText, Parameters, query, quoteText } from "../engine/sql.ts";

/** The weight of an event in a sort: one with little metadata weighs 1. */
const WEIGHT = "1 + coalesce(strlen(metadata), 0) // 200";
/** The weight of events that are sorted at once. */
const SLICE_WEIGHT = 100_000;
/** The resolution of the slices' borders, in parts of a slice. */
const SLICE_PARTS = 8;
/** Keys inserted by one statement. */
const KEYS_AT_ONCE = 1_000;
/** Bytes of events in a row group of Parquet. */
const ROW_GROUP_BYTES = "64MB";
/** Lines that are made before other work gets its turn: so many take half a millisecond. */
const LINES_AT_ONCE = 256;

const USAGE_TEXT = "rtrim(rtrim(usage::VARCHAR, '0'), '.')";
const CREATED_TEXT = "strftime(make_timestamp_ms(created_at), '%Y-%m-%dT%H:%M:%S.%gZ')";

/** SQL of an event's line, by format. */
const LINES: Record<"csv" | "ndjson", string> = {
  csv: `concat(id, ',', key, ',', timestamp, ',', ${USAGE_TEXT}, ',',
      coalesce('"' || replace(metadata, '"', '""') || '"', '{}'), ',', ${CREATED_TEXT}, chr(13), chr(10))`,
  ndjson: `concat('{"id":"', id, '","subscription_id":', key, ',"timestamp":', timestamp, ',"usage":', ${USAGE_TEXT},
      ',"metadata":', coalesce(metadata, '{}'), ',"created_at":"', ${CREATED_TEXT}, '"}', chr(10))`,
};

/** Writes the events as lines, slice by slice; `connection` is in a transaction, so that all are of one instant. */
export async function exportText(
  connection: DuckDBConnection,
  wanted: ExportQuery & { format: "csv" | "ndjson" },
  max_sorted: number,
  write: Write,
): Promise<void> {
  if (wanted.sort?.sort_by === "usage") await assertSortable(connection, wanted, max_sorted);
  const line = LINES[wanted.format];
  const { header, keyText } = LINE_FORMATS[wanted.format];
  await enterKeys(connection, wanted.keys, keyText);
  const encoder = new TextEncoder();
  let text = header;
  for (const slice of await slicesOf(connection, wanted)) {
    const parameters = new Parameters();
    const sql = `SELECT ${line} FROM ${matched({ ...wanted, ...slice }, parameters)} ${orderSql(wanted)}`;
    const result = await connection.stream(sql, parameters.values, parameters.types);
    for await (const chunk of result) {
      for await (const lines of linesOf(chunk)) {
        await writePieces(encoder.encode(text + lines), write);
        text = "";
      }
    }
  }
  await writePieces(encoder.encode(text), write);
}

/** The lines of a chunk in parts, with a turn for everything else before each. */
async function* linesOf(chunk: DuckDBDataChunk): AsyncGenerator<string> {
  const column = chunk.getColumnVector(0);
  for (let from = 0; from < chunk.rowCount; from += LINES_AT_ONCE) {
    await nextTurn();
    let text = "";
    for (let row = from; row < Math.min(from + LINES_AT_ONCE, chunk.rowCount); row++)
      text += asText(column.getItem(row));
    yield text;
  }
}

/** How much an export may sort at once, and use of the disk. */
export type ExportLimits = Pick<ExportOptions, "max_sorted" | "max_file_bytes" | "readRoom">;

/** Writes the file to `path`, ends the transaction, sends the file and removes it. */
export async function exportParquet(
  connection: DuckDBConnection,
  wanted: ExportQuery,
  path: string,
  limits: ExportLimits,
  write: Write,
): Promise<void> {
  if (wanted.sort !== undefined) await assertSortable(connection, wanted, limits.max_sorted);
  await enterKeys(connection, wanted.keys, (key) => key);
  const parameters = new Parameters();
  try {
    const copy = query(
      connection,
      `COPY (SELECT id::VARCHAR AS id, key AS subscription_id, timestamp, usage,
          coalesce(metadata, '{}') AS metadata, make_timestamp_ms(created_at) AT TIME ZONE 'UTC' AS created_at
        FROM ${matched(wanted, parameters)} ${orderSql(wanted)})
      TO ${quoteText(path)} (FORMAT parquet, ROW_GROUP_SIZE_BYTES '${ROW_GROUP_BYTES}')`,
      parameters,
    );
    await boundFile(connection, path, limits, copy);
    // The file no longer needs the transaction's instant.
    await connection.run("ROLLBACK");
    await sendFile(path, write);
  } finally {
    await rm(path, { force: true });
  }
}

/** The pause between checks of the file's size. */
const LOOK_MS = 50;

/**
 * Waits until the file is written, and interrupts that when it grows too large: commits need the disk too.
 * Errors: invalid when it is over the limit, unavailable when it would take more than half of what was left of the disk
 * beside its reserve, else those of `copy`.
 */
async function boundFile(
  connection: DuckDBConnection,
  path: string,
  { max_file_bytes, readRoom }: ExportLimits,
  copy: Promise<unknown>,
): Promise<void> {
  copy.catch(() => undefined);
  let problem: AppError | undefined;
  let is_made = false;
  const made = copy.finally(() => {
    is_made = true;
  });
  const look = async (): Promise<void> => {
    const size = await stat(path).then(
      (file) => file.size,
      () => 0,
    );
    if (size > max_file_bytes) problem ??= tooLarge(max_file_bytes);
    else if (size > (await readRoom())) problem ??= noRoom();
    if (problem !== undefined && !is_made) connection.interrupt();
  };
  const timer = setInterval(() => void look().catch(() => undefined), LOOK_MS);
  try {
    await made;
    await look();
  } catch (error) {
    throw problem ?? error;
  } finally {
    clearInterval(timer);
  }
  if (problem !== undefined) throw problem;
}

/** The matching events, with the text of their subscription's key. */
function matched(wanted: ExportQuery, parameters: Parameters): string {
  return `(SELECT * FROM usage_events JOIN export_keys USING (subscription_id)
    WHERE ${whereSql(wanted, parameters)})`;
}

function orderSql({ sort }: ExportQuery): string {
  if (sort === undefined) return "";
  const direction = sort.sort_order === "asc" ? "ASC" : "DESC";
  const column = sort.sort_by === "usage" ? "usage" : "timestamp";
  return `ORDER BY ${column} ${direction}, id ${direction}`;
}

/** Inserts the keys into a table, which ends with the transaction. */
async function enterKeys(
  connection: DuckDBConnection,
  keys: ReadonlyMap<number, string>,
  keyText: (key: string) => string,
): Promise<void> {
  await connection.run("CREATE TEMP TABLE export_keys (subscription_id INTEGER, key VARCHAR)");
  for (const batch of chunks([...keys], KEYS_AT_ONCE)) {
    const parameters = new Parameters();
    // As texts: made of single values, lists take five times as long.
    const ids = parameters.text(JSON.stringify(batch.map(([id]) => id)));
    const texts = parameters.text(JSON.stringify(batch.map(([, key]) => keyText(key))));
    const sql = `unnest(from_json(${ids}, '["INTEGER"]')), unnest(from_json(${texts}, '["VARCHAR"]'))`;
    await query(connection, `INSERT INTO export_keys SELECT ${sql}`, parameters);
  }
}

/** A span of time: start inclusive, end exclusive. */
interface Slice {
  start_ms?: number | undefined;
  end_ms?: number | undefined;
}

/**
 * Cuts a sort by time into slices of about SLICE_WEIGHT, in the requested order: sorting all at once would use the
 * memory of all queries, and send nothing before it is done.
 */
async function slicesOf(connection: DuckDBConnection, wanted: ExportQuery): Promise<Slice[]> {
  const { company_id, subscription_ids, start_ms, end_ms, sort } = wanted;
  if (sort?.sort_by !== "timestamp") return [{ start_ms, end_ms }];
  const parameters = new Parameters();
  // The cheap conditions only: the others just make slices smaller.
  const where = whereSql({ company_id, subscription_ids, start_ms, end_ms }, parameters);
  const rows = await query(
    connection,
    `WITH matched AS (SELECT timestamp, ${WEIGHT} AS weight FROM usage_events WHERE ${where}),
      parts AS (
        SELECT 1 + (max(timestamp) - min(timestamp)) // (1 + sum(weight)::BIGINT * ${SLICE_PARTS} // ${SLICE_WEIGHT})
          AS width_ms
        FROM matched),
      weighed AS (
        SELECT timestamp // width_ms * width_ms AS part_ms, sum(weight) AS weight FROM matched, parts
        GROUP BY part_ms)
    SELECT min(part_ms) FROM (
      SELECT part_ms, (sum(weight) OVER (ORDER BY part_ms) - 1) // ${SLICE_WEIGHT} AS slice FROM weighed)
    GROUP BY slice ORDER BY slice`,
    parameters,
  );
  const starts = rows.map(([part_ms]) => asNumber(part_ms));
  const slices = starts.map((start, i) => ({
    start_ms: i === 0 ? start_ms : start,
    end_ms: starts[i + 1] ?? end_ms,
  }));
  return sort.sort_order === "asc" ? slices : slices.toReversed();
}

/** Errors: invalid when there is too much to sort at once. */
async function assertSortable(
  connection: DuckDBConnection,
  wanted: ExportQuery,
  max_sorted: number,
): Promise<void> {
  const parameters = new Parameters();
  const where = whereSql(wanted, parameters);
  const sql = `SELECT count(*), coalesce(sum(${WEIGHT}), 0)::BIGINT FROM usage_events WHERE ${where}`;
  const [[count, weight] = []] = await query(connection, sql, parameters);
  assertSorted(asNumber(count), asNumber(weight), max_sorted);
}
