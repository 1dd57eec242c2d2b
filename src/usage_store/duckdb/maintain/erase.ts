import type { DuckDBConnection } from "@duckdb/node-api";
import { chunks } from "../../../core/chunk.ts";
import { fingerprint } from "../append/append_request.ts";
import { readId } from "../append/id_words.ts";
import { EVENT_TABLES } from "../engine/schema.ts";
import { asUuid, Parameters, queryMany, query } from "../engine/sql.ts";
import type { FingerprintIndex } from "../index/fingerprints.ts";
import type { SipHash } from "../index/siphash.ts";
import { ERASED } from "../../metadata.ts";
import type { ErasureQuery } from "../../port.ts";
import { whereSql } from "../query/filters.ts";
import { noteChange } from "./totals_snapshots.ts";

/** How ids lead to rows. */
interface KnownIds {
  hash: SipHash;
  index: FingerprintIndex;
}

/** Ids of one statement. */
const IDS = 10_000;

/** As `UsageStore.findUnerased`. */
export function findUnerased(
  connection: DuckDBConnection,
  { ids, last_seq, ...filter }: ErasureQuery,
  limit: number,
  known: KnownIds,
): Promise<string[]> {
  const parameters = new Parameters();
  const conditions = [
    whereSql(filter, parameters),
    `seq <= ${parameters.integer(last_seq)}`,
    `metadata IS DISTINCT FROM ${parameters.text(ERASED)}`,
    ...(ids === undefined ? [] : [rowsSql(filter.company_id, ids, known, parameters)]),
  ];
  const sql = `SELECT id FROM usage_events WHERE ${conditions.join(" AND ")} LIMIT ${limit}`;
  return queryMany(connection, sql, parameters, ([id]) => asUuid(id).toString());
}

/** Erases the metadata of a company's events, within the open transaction. */
export async function eraseMetadata(
  connection: DuckDBConnection,
  company_id: number,
  ids: readonly string[],
  known: KnownIds,
): Promise<void> {
  await noteChange(connection);
  for (const part of chunks(ids, IDS)) {
    const parameters = new Parameters();
    const erased = parameters.text(ERASED);
    const where = `company_id = ${parameters.integer(company_id)}
      AND ${rowsSql(company_id, part, known, parameters)} AND metadata IS DISTINCT FROM ${erased}`;
    for (const table of EVENT_TABLES)
      await query(connection, `UPDATE ${table} SET metadata = ${erased} WHERE ${where}`, parameters);
  }
}

/** SQL of the rows of ids: by their numbers, which the index knows, as blocks are skipped by those. */
function rowsSql(
  company_id: number,
  ids: readonly string[],
  { hash, index }: KnownIds,
  parameters: Parameters,
): string {
  const words = new Uint32Array(4);
  const seqs = ids.flatMap((id, position) => {
    readId(id, words, 0, position);
    fingerprint(hash, company_id, words, 0);
    return index.find(hash.high, hash.low);
  });
  const sorted = seqs.toSorted((a, b) => a - b);
  const [first] = sorted;
  if (first === undefined) return "false";
  // As two texts: the driver builds a list value by value.
  return `seq BETWEEN ${parameters.integer(first)} AND ${parameters.integer(sorted.at(-1) ?? first)}
    AND seq IN (SELECT unnest(string_split(${parameters.text(seqs.join())}, ','))::BIGINT)
    AND id IN (SELECT unnest(string_split(${parameters.text(ids.join())}, ','))::UUID)`;
}
