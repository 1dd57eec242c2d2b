import { toMillionths } from "../../append/append_request.ts";
import { nextTurn } from "../../../core/chunk.ts";
import { narrow } from "../../meter_reader.ts";
import type { EventPlace, EventRange, NumberedEvent } from "../../running/totals_source.ts";
import { readMetadata } from "../append/stored_metadata.ts";
import type { Bounds, ClickHouse } from "../engine/engine.ts";
import { asNumber, asText, integer } from "../engine/sql.ts";
import { subscriptionSql } from "./filters.ts";

/** Events that are read in one turn. */
const EVENTS_A_TURN = 500;

/** As `TotalsSource.readEvents`; of all companies those of a lane. */
export async function readEvents(
  engine: ClickHouse,
  { after_seq, last_seq, company_id, subscription_ids, from_ms }: EventRange,
  lane: number,
  isWanted: (place: EventPlace) => boolean,
  take: (event: NumberedEvent) => void,
  bounds: Bounds,
): Promise<void> {
  const conditions = [
    `lane = ${integer(lane)}`,
    company_id === undefined ? "company_id > 0" : `company_id = ${integer(company_id)}`,
    `seq <= ${integer(last_seq)}`,
    ...(after_seq === undefined ? [] : [`seq > ${integer(after_seq)}`]),
    ...(from_ms === undefined ? [] : [`timestamp >= ${integer(from_ms)}`]),
    ...(subscription_ids === undefined ? [] : [subscriptionSql(subscription_ids)]),
  ];
  await eachEvent(engine, conditions.join(" AND "), isWanted, take, bounds);
}

/** Reads events one by one. */
export async function eachEvent(
  engine: ClickHouse,
  where: string,
  isWanted: (place: EventPlace) => boolean,
  take: (event: NumberedEvent) => void,
  bounds: Bounds,
): Promise<void> {
  const sql = `SELECT company_id, subscription_id, seq, timestamp, toString(id), usage, metadata
    FROM usage_events WHERE ${where}`;
  let taken = 0;
  for await (const rows of engine.stream(sql, bounds)) {
    for (const [company, subscription, seq, timestamp, id, usage, metadata] of rows) {
      const place = { company_id: asNumber(company), subscription_id: asNumber(subscription) };
      if (++taken % EVENTS_A_TURN === 0) await nextTurn();
      if (!isWanted(place)) continue;
      take({
        ...place,
        seq: asNumber(seq),
        timestamp: asNumber(timestamp),
        id: asText(id),
        usage: narrow(toMillionths(asText(usage))),
        metadata: readMetadata(asText(metadata)),
      });
    }
  }
}
