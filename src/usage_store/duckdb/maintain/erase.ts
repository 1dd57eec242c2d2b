import type { DuckDBConnection } from "@duckdb/node-api";
import { chunks } from "../../../core/chunk.ts";
import { EVENT_TABLES } from "../engine/schema.ts";
import { asNumber, asUuid, Parameters, queryMany, query, quoteText } from "../engine/sql.ts";
import { ERASED, ERASED_KEY, erasedMetadata } from "../../erased_metadata.ts";
import type { ErasureQuery } from "../../erasures.ts";
import { whereSql } from "../query/filters.ts";
import { pointer } from "../query/metadata_sql.ts";
import { IDS_AT_ONCE, type KnownIds, rowsSql } from "../query/stored_ids.ts";
import { noteChange } from "./totals_snapshots.ts";

/** As `UsageErasures.findUnerased`. */
export function findUnerased(
  connection: DuckDBConnection,
  { ids, last_seq, keep = [], ...filter }: ErasureQuery,
  limit: number,
  known: KnownIds,
): Promise<string[]> {
  const parameters = new Parameters();
  const conditions = [
    whereSql(filter, parameters),
    `seq <= ${parameters.integer(last_seq)}`,
    `NOT ${isErasedSql(keep, parameters)}`,
    ...(ids === undefined ? [] : [rowsSql(filter.company_id, ids, known, parameters)]),
  ];
  const sql = `SELECT id FROM usage_events WHERE ${conditions.join(" AND ")} LIMIT ${limit}`;
  return queryMany(connection, sql, parameters, ([id]) => asUuid(id).toString());
}

/** Whose metadata goes, and the keys that stay. */
interface Erasing {
  company_id: number;
  ids: readonly string[];
  keep: readonly string[];
}

/** Erases the metadata of a company's events, within the open transaction. */
export async function eraseMetadata(
  connection: DuckDBConnection,
  { company_id, ids, keep }: Erasing,
  known: KnownIds,
): Promise<void> {
  await noteChange(connection);
  for (const part of chunks(ids, IDS_AT_ONCE)) {
    const parameters = new Parameters();
    const where = `company_id = ${parameters.integer(company_id)}
      AND ${rowsSql(company_id, part, known, parameters)} AND NOT ${isErasedSql(keep, parameters)}`;
    if (keep.length > 0) await replaceTexts(connection, where, parameters, { company_id, keep });
    else
      for (const table of EVENT_TABLES)
        await query(
          connection,
          `UPDATE ${table} SET metadata = ${quoteText(ERASED)} WHERE ${where}`,
          parameters,
        );
  }
}

/** Characters of metadata that are read and written in one go: more would hold everything else up. */
const PORTION = 250_000;

/** Writes what is kept of each event in place of its metadata. */
async function replaceTexts(
  connection: DuckDBConnection,
  where: string,
  parameters: Parameters,
  { company_id, keep }: Pick<Erasing, "company_id" | "keep">,
): Promise<void> {
  for (const table of EVENT_TABLES) {
    const found = await queryMany(
      connection,
      `SELECT seq, coalesce(length(metadata), 0) FROM ${table} WHERE ${where} ORDER BY seq`,
      parameters,
      ([seq, length]) => ({ seq: asNumber(seq), length: asNumber(length) }),
    );
    for (const seqs of portionsOf(found)) await replacePortion(connection, table, seqs, { company_id, keep });
  }
}

/** The numbers of events in portions of so much metadata, of one event at least. */
function* portionsOf(events: readonly { seq: number; length: number }[]): Generator<number[]> {
  let [portion, size]: [number[], number] = [[], 0];
  for (const { seq, length } of events) {
    if (portion.length > 0 && size + length > PORTION) {
      yield portion;
      [portion, size] = [[], 0];
    }
    portion.push(seq);
    size += length;
  }
  if (portion.length > 0) yield portion;
}

async function replacePortion(
  connection: DuckDBConnection,
  table: string,
  seqs: readonly number[],
  { company_id, keep }: Pick<Erasing, "company_id" | "keep">,
): Promise<void> {
  const reading = new Parameters();
  const rows = await queryMany(
    connection,
    `SELECT id, metadata FROM ${table} WHERE ${numberedSql(company_id, seqs, reading)}`,
    reading,
    ([id, text]) => ({
      id: asUuid(id).toString(),
      text: erasedMetadata(typeof text === "string" ? text : null, keep),
    }),
  );
  const writing = new Parameters();
  const where = numberedSql(company_id, seqs, writing);
  const [ids, erased] = [rows.map(({ id }) => id), rows.map(({ text }) => text)].map((values) =>
    writing.text(JSON.stringify(values)),
  );
  await query(
    connection,
    `UPDATE ${table} SET metadata = erased_text FROM (
      SELECT unnest(from_json(${ids}, '["UUID"]')) AS erased_id,
        unnest(from_json(${erased}, '["VARCHAR"]')) AS erased_text)
    WHERE ${where} AND id = erased_id`,
    writing,
  );
}

/** SQL of a company's events with these numbers, ascending; by the bounds the engine skips blocks. */
function numberedSql(company_id: number, seqs: readonly number[], parameters: Parameters): string {
  const [first, last] = [seqs[0] ?? 0, seqs.at(-1) ?? 0];
  return `company_id = ${parameters.integer(company_id)}
    AND seq BETWEEN ${parameters.integer(first)} AND ${parameters.integer(last)}
    AND seq IN (SELECT unnest(string_split(${parameters.text(seqs.join())}, ','))::BIGINT)`;
}

/** SQL of whether the metadata of an event is erased, but for the keys to keep: whether `erasedMetadata` would change nothing. */
function isErasedSql(keep: readonly string[], parameters: Parameters): string {
  const whole = `metadata IS NOT DISTINCT FROM ${parameters.text(ERASED)}`;
  if (keep.length === 0) return `(${whole})`;
  const pointers = keep.map((key) => quoteText(pointer([key])));
  const keys = parameters.text(JSON.stringify([...keep, ERASED_KEY]));
  return `(${whole} OR coalesce(
    json_extract(metadata, ${quoteText(pointer([ERASED_KEY]))})::VARCHAR = 'true'
    AND list_has_all(from_json(${keys}, '["VARCHAR"]'), json_keys(metadata))
    AND NOT list_has_any(json_type(metadata, [${pointers.join(", ")}]), ['OBJECT', 'ARRAY']), false))`;
}
