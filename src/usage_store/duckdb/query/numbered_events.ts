import type { DuckDBConnection } from "@duckdb/node-api";
import { nextTurn } from "../../../core/chunk.ts";
import { narrow } from "../../meter_reader.ts";
import type { EventPlace, EventRange, NumberedEvent } from "../../running/totals_source.ts";
import { asUuid, Parameters } from "../engine/sql.ts";
import { rawWords } from "../engine/vector_words.ts";

/** Events that are read in one turn. */
const EVENTS_A_TURN = 500;

/** As `TotalsSource.readEvents`. */
export async function readEvents(
  connection: DuckDBConnection,
  range: EventRange,
  isWanted: (place: EventPlace) => boolean,
  take: (event: NumberedEvent) => void,
): Promise<void> {
  const parameters = new Parameters();
  const sql = `SELECT seq, company_id, subscription_id, timestamp, usage, id, metadata FROM usage_events
    WHERE ${conditionsOf(range, parameters).join(" AND ")}`;
  const result = await connection.stream(sql, parameters.values, parameters.types);
  for await (const chunk of result) {
    const vectors = [0, 1, 2, 3, 4].map((column) => rawWords(chunk.getColumnVector(column)));
    const [seqs, companies, subscriptions, timestamps, usages] = vectors;
    if (!seqs || !companies || !subscriptions || !timestamps || !usages)
      throw new TypeError("Cannot read stored events: a column is missing");
    const [ids, metadata] = [chunk.getColumnVector(5), chunk.getColumnVector(6)];
    for (let row = 0; row < chunk.rowCount; row++) {
      if (row % EVENTS_A_TURN === EVENTS_A_TURN - 1) await nextTurn();
      const place = { company_id: companies[row] ?? 0, subscription_id: (subscriptions[row] ?? 0) | 0 };
      if (!isWanted(place)) continue;
      const text = metadata.getItem(row);
      take({
        ...place,
        seq: longAt(seqs, row),
        timestamp: longAt(timestamps, row),
        usage: millionthsAt(usages, row),
        id: asUuid(ids.getItem(row)).toString(),
        metadata: typeof text === "string" ? text : null,
      });
    }
  }
}

function conditionsOf(
  { after_seq, last_seq, company_id, subscription_ids, from_ms }: EventRange,
  parameters: Parameters,
): string[] {
  const conditions = [`seq <= ${parameters.integer(last_seq)}`];
  if (after_seq !== undefined) conditions.push(`seq > ${parameters.integer(after_seq)}`);
  if (company_id !== undefined) conditions.push(`company_id = ${parameters.integer(company_id)}`);
  if (from_ms !== undefined) conditions.push(`timestamp >= ${parameters.integer(from_ms)}`);
  // As one text: the driver builds a list value by value.
  if (subscription_ids !== undefined)
    conditions.push(
      `subscription_id IN (SELECT unnest(string_split(${parameters.text(subscription_ids.join())}, ','))::INTEGER)`,
    );
  return conditions;
}

/** A whole number from 0 to 2^53. */
function longAt(words: Uint32Array, row: number): number {
  return (words[row * 2] ?? 0) + (words[row * 2 + 1] ?? 0) * 2 ** 32;
}

function millionthsAt(words: Uint32Array, row: number): number | bigint {
  const [low, high] = [words[row * 2] ?? 0, (words[row * 2 + 1] ?? 0) | 0];
  const value = high * 2 ** 32 + low;
  return Number.isSafeInteger(value) ? value : narrow((BigInt(high) << 32n) + BigInt(low));
}
