import { chunks } from "../../../core/chunk.ts";
import type { StoredId } from "../../port.ts";
import type { Bounds, ClickHouse } from "../engine/engine.ts";
import { asNumber, asText, integer, integerSet, uuids } from "../engine/sql.ts";
import { HOUR } from "./filters.ts";

/** Ids of one statement. */
const IDS_AT_ONCE = 2_000;

/** As `UsageStore.findStored`. `hoursOf`: in which hours of UTC the events of ids are, where that is known. */
export async function findStored(
  engine: ClickHouse,
  company_id: number,
  ids: readonly string[],
  hoursOf: (ids: readonly string[]) => number[] | undefined,
  bounds: Bounds,
): Promise<StoredId[]> {
  const found: StoredId[] = [];
  for (const some of chunks([...new Set(ids)], IDS_AT_ONCE)) {
    const hours = hoursOf(some);
    if (hours?.length === 0) continue;
    const within = hours === undefined ? "" : `AND ${HOUR} IN ${integerSet(hours)}`;
    const rows = await engine.ask(
      `SELECT toString(id), subscription_id FROM usage_events
      WHERE company_id = ${integer(company_id)} ${within} AND id IN ${uuids(some)}`,
      bounds,
    );
    for (const [id, subscription_id] of rows)
      found.push({ id: asText(id), subscription_id: asNumber(subscription_id) });
  }
  return found;
}

/** The number of the last commit of a company's events, or of a later one of its lane that stored none. */
export async function lastSeq(
  engine: ClickHouse,
  { company_id, lane }: { company_id: number; lane: number },
  bounds: Bounds,
): Promise<number> {
  // What stands under company 0 has the hour of its lane's number (schema.ts).
  const [[seq = 0] = []] = await engine.ask(
    `SELECT max(seq) FROM usage_events WHERE company_id IN (0, ${integer(company_id)})
      AND (company_id = ${integer(company_id)} OR ${HOUR} = ${integer(lane)})`,
    bounds,
  );
  return asNumber(seq);
}

/** The highest number of an event of any company. */
export async function lastSeqOfAll(engine: ClickHouse, bounds: Bounds): Promise<number> {
  const [[seq = 0] = []] = await engine.ask("SELECT max(seq) FROM usage_events WHERE company_id > 0", bounds);
  return asNumber(seq);
}
