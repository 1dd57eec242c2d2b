import {
  type DuckDBConnection,
  DuckDBDataChunk,
  DuckDBDecimalValue,
  DuckDBUUIDValue,
  type DuckDBVector,
} from "@duckdb/node-api";
import type { AppendRequest } from "./append_request.ts";
import { appendChunks } from "./appending.ts";
import type { Verdict } from "./judge.ts";
import { EVENT_COLUMNS, type HotTable, USAGE_TYPE } from "./schema.ts";

const TYPES = Object.values(EVENT_COLUMNS);

/** Appends the fresh events of all verdicts, numbered from `first_seq`, within the open transaction. */
export function appendRows(
  connection: DuckDBConnection,
  table: HotTable,
  verdicts: readonly Verdict[],
  first_seq: number,
): Promise<void> {
  const rows = verdicts.flatMap(({ request, fresh }) => fresh.map((position) => ({ request, position })));
  return appendChunks(connection, table, rows.length, (start, end) =>
    fillChunk(rows.slice(start, end), first_seq + start),
  );
}

function fillChunk(
  rows: readonly { request: AppendRequest; position: number }[],
  first_seq: number,
): DuckDBDataChunk {
  const chunk = DuckDBDataChunk.create(TYPES, rows.length);
  const vectors = TYPES.map((_, column) => chunk.getColumnVector(column));
  rows.forEach(({ request, position }, row) => setRow(vectors, row, first_seq + row, request, position));
  for (const vector of vectors) vector.flush();
  return chunk;
}

function setRow(
  vectors: readonly DuckDBVector[],
  row: number,
  seq: number,
  request: AppendRequest,
  position: number,
): void {
  const [seqs, companies, subscriptions, timestamps, ids, usages, metadata, created] = vectors;
  const event = request.events[position];
  if (event === undefined) throw new RangeError(`Cannot write event ${position}: the request has fewer`);
  const upper = request.ids[position * 2] ?? 0n;
  const lower = request.ids[position * 2 + 1] ?? 0n;
  const millionths = request.millionths[position] ?? 0n;
  seqs?.setItem(row, BigInt(seq));
  companies?.setItem(row, request.company_id);
  subscriptions?.setItem(row, event.subscription_id);
  timestamps?.setItem(row, BigInt(event.timestamp));
  ids?.setItem(row, DuckDBUUIDValue.fromUint128((upper << 64n) | lower));
  usages?.setItem(row, new DuckDBDecimalValue(millionths, USAGE_TYPE.width, USAGE_TYPE.scale));
  metadata?.setItem(row, event.metadata);
  created?.setItem(row, BigInt(request.created_at));
}
