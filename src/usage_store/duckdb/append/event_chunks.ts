import { type DuckDBConnection, DuckDBDataChunk } from "@duckdb/node-api";
import { type AppendRequest, USAGE, WORDS } from "../../append/append_request.ts";
import { appendChunks } from "./append_chunks.ts";
import type { AppendDecision } from "../../append/deduplicate.ts";
import { EVENT_COLUMNS, type HotTable } from "../engine/schema.ts";
import { rawWords } from "../engine/vector_words.ts";
import { setId } from "./stored_id.ts";

const TYPES = Object.values(EVENT_COLUMNS);
const METADATA = Object.keys(EVENT_COLUMNS).indexOf("metadata");

/** The events to write, in their order: `positions[i]` is a place in `requests[i]`. */
interface Rows {
  requests: AppendRequest[];
  positions: number[];
}

/** Appends the new events of all decisions, numbered from `first_seq`, within the open transaction. */
export function appendRows(
  connection: DuckDBConnection,
  table: HotTable,
  decisions: readonly AppendDecision[],
  first_seq: number,
): Promise<void> {
  const rows: Rows = { requests: [], positions: [] };
  for (const { request, fresh } of decisions) {
    for (const position of fresh) {
      rows.requests.push(request);
      rows.positions.push(position);
    }
  }
  return appendChunks(connection, table, rows.positions.length, (start, end) =>
    fillChunk(rows, start, end, first_seq),
  );
}

/** Writes columns in the engine's memory format: an object or bigint for each value costs three times as much. */
function fillChunk(
  { requests, positions }: Rows,
  start: number,
  end: number,
  first_seq: number,
): DuckDBDataChunk {
  const chunk = DuckDBDataChunk.create(TYPES, end - start);
  const vectors = TYPES.map((_, column) => chunk.getColumnVector(column));
  const [seqs, companies, subscriptions, timestamps, ids, usages, , created] = vectors.map(
    (vector, column) => (column === METADATA ? NO_WORDS : rawWords(vector)),
  );
  const metadata = vectors[METADATA];
  if (!seqs || !companies || !subscriptions || !timestamps || !ids || !usages || !created || !metadata) {
    throw new TypeError("Cannot write events: a column is missing");
  }
  for (let i = start; i < end; i++) {
    const request = requests[i];
    const position = positions[i] ?? 0;
    const event = request?.events[position];
    if (request === undefined || event === undefined)
      throw new RangeError(`Cannot write event ${i}: there is none`);
    const row = i - start;
    setLong(seqs, row, first_seq + i);
    companies[row] = request.company_id;
    subscriptions[row] = event.subscription_id;
    setLong(timestamps, row, event.timestamp);
    const at = position * WORDS;
    setId(ids, row, request.words, at);
    usages[row * 2] = request.words[at + USAGE] ?? 0;
    usages[row * 2 + 1] = request.words[at + USAGE + 1] ?? 0;
    metadata.setItem(row, event.metadata);
    setLong(created, row, request.created_at);
  }
  for (const vector of vectors) vector.flush();
  return chunk;
}

const NO_WORDS = new Uint32Array();

/** Sets a whole number from 0 to 2^53. */
function setLong(words: Uint32Array, row: number, value: number): void {
  words[row * 2] = value;
  words[row * 2 + 1] = value / 2 ** 32;
}
