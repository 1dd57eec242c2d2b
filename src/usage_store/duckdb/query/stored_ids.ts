import type { DuckDBConnection } from "@duckdb/node-api";
import { chunks } from "../../../core/chunk.ts";
import type { StoredId } from "../../port.ts";
import { fingerprint } from "../../append/append_request.ts";
import { readId } from "../../append/id_words.ts";
import { asNumber, asUuid, Parameters, queryMany } from "../engine/sql.ts";
import type { FingerprintIndex } from "../../index/fingerprints.ts";
import type { SipHash } from "../../index/siphash.ts";

/** How ids lead to rows. */
export interface KnownIds {
  hash: SipHash;
  index: FingerprintIndex;
}

/** Ids of one statement. */
export const IDS_AT_ONCE = 2_000;

/** As `UsageStore.findStored`. */
export async function findStored(
  connection: DuckDBConnection,
  company_id: number,
  ids: readonly string[],
  known: KnownIds,
): Promise<StoredId[]> {
  const found: StoredId[] = [];
  for (const part of chunks(ids, IDS_AT_ONCE)) {
    const parameters = new Parameters();
    const where = `company_id = ${parameters.integer(company_id)}
      AND ${rowsSql(company_id, part, known, parameters)}`;
    const sql = `SELECT id, subscription_id FROM usage_events WHERE ${where}`;
    const rows = await queryMany(connection, sql, parameters, ([id, subscription_id]) => ({
      id: asUuid(id).toString(),
      subscription_id: asNumber(subscription_id),
    }));
    found.push(...rows);
  }
  return found;
}

/** SQL of the rows of ids: by their numbers, which the index knows, as blocks are skipped by those. */
export function rowsSql(
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
