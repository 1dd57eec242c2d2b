import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Write } from "../../../core/download.ts";
import { iso } from "../../../core/time.ts";
import { nextTurn, ROWS_A_TURN } from "../../../core/chunk.ts";
import type { ExportOptions, ExportQuery, SegmentRange, WrittenSegment } from "../../port.ts";
import {
  assertSorted,
  LINE_FORMATS,
  noRoom,
  PIECE_BYTES,
  quoted,
  sendFile,
  tooLarge,
  writePieces,
} from "../../query/export_file.ts";
import { readMetadata } from "../append/stored_metadata.ts";
import { type Bounds, type ClickHouse, timeoutError } from "../engine/engine.ts";
import { asDecimal, asNumber, asText, integer, integers, type Row, texts } from "../engine/sql.ts";
import { subscriptionSql, whereSql } from "./filters.ts";
import { CANONICAL_METADATA } from "./metadata_sql.ts";
import { orderSql } from "./search.ts";

interface ExportedEvent {
  id: string;
  timestamp: number;
  usage: string;
  /** JSON text. */
  metadata: string;
  created_at: string;
}

/** The line of an event with the text of its key, by format. */
const LINES: Record<"csv" | "ndjson", (event: ExportedEvent, key: string) => string> = {
  csv: ({ id, timestamp, usage, metadata, created_at }, key) =>
    `${id},${key},${timestamp},${usage},${metadata === "{}" ? metadata : quoted(metadata)},${created_at}\r\n`,
  ndjson: ({ id, timestamp, usage, metadata, created_at }, key) =>
    `{"id":"${id}","subscription_id":${key},"timestamp":${timestamp},"usage":${usage},"metadata":${metadata},"created_at":"${created_at}"}\n`,
};

/** What exports work with. */
interface ExportPlace {
  /** Of temporary files. */
  folder: string;
  /** Reads what was not removed of the events that are asked for, all of one instant. */
  readVisible: <T>(
    wanted: ExportQuery,
    read: (visible: ExportQuery) => AsyncGenerator<T>,
  ) => AsyncGenerator<T>;
}

/** Writes all matching events; see `UsageStore.export`. */
export async function exportEvents(
  engine: ClickHouse,
  wanted: ExportQuery,
  place: ExportPlace,
  write: Write,
  { max_sorted, max_file_bytes, readRoom, ...bounds }: ExportOptions,
): Promise<void> {
  await paced(bounds, write, (pace) =>
    exportPaced(engine, wanted, place, pace, { max_sorted, max_file_bytes, readRoom, ...bounds }),
  );
}

/** Ends with its bounds, also while whoever receives takes nothing. */
async function paced(
  { timeout_ms, signal }: Bounds,
  write: Write,
  work: (pace: Write) => Promise<void>,
): Promise<void> {
  const halt = Promise.withResolvers<never>();
  halt.promise.catch(() => undefined);
  const onAbort = (): void => halt.reject(signal?.reason);
  const timer = setTimeout(() => halt.reject(timeoutError(timeout_ms)), Math.max(timeout_ms, 0));
  signal?.addEventListener("abort", onAbort);
  try {
    signal?.throwIfAborted();
    await work((bytes) => Promise.race([write(bytes), halt.promise]));
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

async function exportPaced(
  engine: ClickHouse,
  wanted: ExportQuery,
  { folder, readVisible }: ExportPlace,
  write: Write,
  { max_sorted, max_file_bytes, readRoom, ...bounds }: ExportOptions,
): Promise<void> {
  const { format, sort } = wanted;
  if (sort !== undefined && (format === "parquet" || sort.sort_by === "usage"))
    await assertSortable(engine, wanted, max_sorted, bounds);
  if (format !== "parquet") {
    const rows = readVisible(wanted, (visible) => engine.stream(textSql(visible), bounds));
    return exportText(rows, { format, keys: wanted.keys }, write);
  }
  const bytes = readVisible(wanted, (visible) => engine.bytes(parquetSql(visible), bounds));
  await throughFile(folder, { max_file_bytes, readRoom }, bytes, write);
}

function textSql(wanted: ExportQuery): string {
  return `SELECT toString(id), subscription_id, timestamp, usage, metadata, created_at FROM ${matchedSql(wanted)}`;
}

async function exportText(
  found: AsyncIterable<Row[]>,
  { format, ...wanted }: { format: "csv" | "ndjson"; keys: ExportQuery["keys"] },
  write: Write,
): Promise<void> {
  const line = LINES[format];
  const { header, keyText } = LINE_FORMATS[format];
  const keys = new Map(Array.from(wanted.keys, ([id, key]) => [id, keyText(key)]));
  let lines = header;
  const send = async (): Promise<void> => {
    const bytes = new TextEncoder().encode(lines);
    lines = "";
    await writePieces(bytes, write);
  };
  for await (const rows of found) {
    for (const [i, row] of rows.entries()) {
      if (i % ROWS_A_TURN === ROWS_A_TURN - 1) await nextTurn();
      const key = keys.get(asNumber(row[1]));
      if (key !== undefined) lines += line(eventOf(row), key);
      if (lines.length >= PIECE_BYTES) await send();
    }
  }
  await send();
}

function eventOf([id, , timestamp, usage, metadata, created_at]: Row): ExportedEvent {
  return {
    id: asText(id),
    timestamp: asNumber(timestamp),
    usage: asDecimal(usage),
    metadata: readMetadata(asText(metadata)) ?? "{}",
    created_at: iso(Temporal.Instant.fromEpochMilliseconds(asNumber(created_at))),
  };
}

/** The matching events of the subscriptions that have a key. */
function matchedSql(wanted: ExportQuery): string {
  const order = wanted.sort === undefined ? "" : orderSql(wanted.sort);
  return `usage_events WHERE ${whereSql(wanted)} AND ${subscriptionSql([...wanted.keys.keys()])} ${order}`;
}

function parquetSql(wanted: ExportQuery): string {
  const [ids, keys] = [[...wanted.keys.keys()], [...wanted.keys.values()]];
  const key =
    ids.length === 0 ? "''" : `transform(toInt64(subscription_id), ${integers(ids)}, ${texts(keys)}, '')`;
  return `SELECT toString(id) AS id, ${key} AS subscription_id, timestamp, usage,
      if(metadata = '', '{}', ${CANONICAL_METADATA}) AS metadata, fromUnixTimestamp64Milli(created_at, 'UTC') AS created_at
    FROM (SELECT * FROM ${matchedSql(wanted)}) FORMAT Parquet`;
}

/** Up to which number a segment goes, and how many events it has. */
export async function findSegment(
  engine: ClickHouse,
  { from, to, limit }: SegmentRange,
  bounds: Bounds,
): Promise<WrittenSegment> {
  const numbers = `SELECT seq FROM usage_events WHERE ${segmentWhere({ from, to })}`;
  // All events of a commit have its number.
  const first = limit === undefined ? "" : `ORDER BY seq LIMIT ${integer(limit)} WITH TIES`;
  const [[count = 0, last = 0] = []] = await engine.ask(
    `SELECT count(), max(seq) FROM (${numbers} ${first})`,
    bounds,
  );
  const events = asNumber(count);
  return { to: limit === undefined || events < limit ? to : asNumber(last), events };
}

/** SQL of a range of numbers, in Parquet; see `UsageStore.exportSegment`. */
export function segmentSql({ from, to }: { from: number; to: number }): string {
  return `SELECT toInt64(seq) AS seq, toInt32(company_id) AS company_id, toInt32(subscription_id) AS subscription_id,
      timestamp, id, usage, if(metadata = '', NULL, ${CANONICAL_METADATA}) AS metadata, created_at
    FROM (SELECT * FROM usage_events WHERE ${segmentWhere({ from, to })} ORDER BY seq) FORMAT Parquet`;
}

/** SQL of the condition of a range of numbers. */
function segmentWhere({ from, to }: { from: number; to: number }): string {
  return `company_id > 0 AND seq > ${integer(from)} AND seq <= ${integer(to)}`;
}

/** The weight of an event in a sort: one with little metadata weighs 1. */
const WEIGHT = "1 + intDiv(length(metadata), 200)";

/** Errors: invalid when there is too much to sort at once. */
async function assertSortable(
  engine: ClickHouse,
  wanted: ExportQuery,
  max_sorted: number,
  bounds: Bounds,
): Promise<void> {
  const sql = `SELECT count(), sum(${WEIGHT}) FROM usage_events WHERE ${whereSql(wanted)}`;
  const [[count, weight] = []] = await engine.ask(sql, bounds);
  assertSorted(asNumber(count), asNumber(weight), max_sorted);
}

/** Sends bytes once all of them are there: whoever receives a file gets a whole one, or an error. */
async function throughFile(
  folder: string,
  { max_file_bytes, readRoom }: Pick<ExportOptions, "max_file_bytes" | "readRoom">,
  bytes: AsyncIterable<Uint8Array>,
  write: Write,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, `${crypto.randomUUID()}.parquet`);
  try {
    await writeFile(path, bytes, async (size) => {
      if (size > max_file_bytes) throw tooLarge(max_file_bytes);
      if (size > (await readRoom())) throw noRoom();
    });
    await sendFile(path, write);
  } finally {
    await rm(path, { force: true });
  }
}

/** Writes a new file. `check` is told its size as it grows. Errors: those of `check`, and of the file system. */
export async function writeFile(
  path: string,
  bytes: AsyncIterable<Uint8Array>,
  check: (size: number) => Promise<void> = async () => undefined,
): Promise<void> {
  const file = await open(path, "wx", 0o600);
  let size = 0;
  try {
    for await (const piece of bytes) {
      size += piece.length;
      await check(size);
      await file.appendFile(piece);
    }
    await file.sync();
  } finally {
    await file.close();
  }
}
