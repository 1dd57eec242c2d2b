import { DuckDBInstance, type DuckDBConnection, type DuckDBValue } from "@duckdb/node-api";
import { digestOf } from "../../digest.ts";
import type { ContentDigest, KeptHour, SegmentRow } from "../../segment_rows.ts";
import type { EngineLimits } from "../engine/database.ts";
import { asBigInt, asNumber, asText, quoteText } from "../engine/sql.ts";
import { digestSums } from "./totals.ts";

// Files of backups, read for another engine.

/** The events of a segment file that have a number up to `last_seq`, in parts. Errors: throws when it can't be read. */
export async function* readSegment(
  path: string,
  last_seq: number,
  limits: EngineLimits,
): AsyncGenerator<SegmentRow[]> {
  const sql = `SELECT seq::BIGINT, company_id, subscription_id, timestamp, id::VARCHAR, usage::VARCHAR, metadata, created_at
    FROM read_parquet(${quoteText(path)}) WHERE seq <= ${last_seq}`;
  yield* read(sql, limits, (row) => {
    const [seq, company_id, subscription_id, timestamp, id, usage, metadata, created_at] = row;
    return {
      seq: asNumber(seq),
      company_id: asNumber(company_id),
      subscription_id: asNumber(subscription_id),
      timestamp: asNumber(timestamp),
      id: asText(id),
      usage: asText(usage),
      metadata: metadata === null ? null : asText(metadata),
      created_at: asNumber(created_at),
    };
  });
}

/** The digests of all that segment files hold up to `last_seq`. Errors: throws when one can't be read. */
export async function segmentDigests(
  paths: readonly string[],
  last_seq: number,
  limits: EngineLimits,
): Promise<ContentDigest[]> {
  if (paths.length === 0) return [];
  const content = "id, seq, subscription_id, timestamp, usage, created_at, coalesce(metadata, '')";
  const sql = `SELECT company_id, month, count(*), ${digestSums().first}, ${digestSums().second} FROM (
      SELECT company_id, strftime(make_timestamp(timestamp * 1000), '%Y-%m') AS month,
        md5_number(concat_ws('|', ${content})) AS md5
      FROM read_parquet([${paths.map(quoteText).join(", ")}]) WHERE seq <= ${last_seq})
    GROUP BY company_id, month`;
  const digests: ContentDigest[] = [];
  const parts = read(sql, limits, ([company_id, month, events, first, second]) => ({
    company_id: asNumber(company_id),
    month: asText(month),
    events: asNumber(events),
    digest: digestOf(asBigInt(first), asBigInt(second)),
  }));
  for await (const part of parts) digests.push(...part);
  return digests;
}

/** The sums of a file of `exportKept`, in parts. Errors: throws when it can't be read. */
export async function* readKept(path: string, limits: EngineLimits): AsyncGenerator<KeptHour[]> {
  const sql = `SELECT company_id, subscription_id, hour, total::VARCHAR, events, low::VARCHAR, high::VARCHAR, corrections
    FROM read_parquet(${quoteText(path)})`;
  yield* read(sql, limits, (row) => {
    const [company_id, subscription_id, hour, total, events, low, high, corrections] = row;
    return {
      company_id: asNumber(company_id),
      subscription_id: asNumber(subscription_id),
      hour: asNumber(hour),
      total: asText(total),
      events: asNumber(events),
      low: asText(low),
      high: asText(high),
      corrections: asNumber(corrections),
    };
  });
}

async function* read<T>(
  sql: string,
  { threads, memory_limit }: EngineLimits,
  rowOf: (row: DuckDBValue[]) => T,
): AsyncGenerator<T[]> {
  const instance = await DuckDBInstance.create(":memory:", { threads: String(threads), memory_limit });
  let connection: DuckDBConnection | undefined;
  try {
    connection = await instance.connect();
    const result = await connection.stream(sql);
    for (;;) {
      const chunk = await result.fetchChunk();
      if (chunk === null || chunk.rowCount === 0) return;
      yield chunk.getRows().map(rowOf);
    }
  } finally {
    connection?.closeSync();
    instance.closeSync();
  }
}
