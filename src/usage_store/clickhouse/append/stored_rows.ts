import { chunks } from "../../../core/chunk.ts";
import { toMillionths } from "../../append/append_request.ts";
import type { Candidate, FindRows, StoredRow } from "../../append/deduplicate.ts";
import { HOUR_MS } from "../../time_buckets.ts";
import type { ClickHouse } from "../engine/engine.ts";
import { asNumber, asText, integer, integerSet, uuids } from "../engine/sql.ts";
import { hourOf } from "./lane_ids.ts";
import { readMetadata } from "./stored_metadata.ts";

/** Candidates of one statement. */
const CANDIDATES_AT_ONCE = 5_000;

/** How long the look-up of stored events may take. */
const FINDING_MS = 60_000;

/** Finds the rows of candidates by company, hour and id: the table is in the order of the first two. */
export function storedRows(engine: ClickHouse): FindRows {
  return async (candidates) => {
    const found: StoredRow[] = [];
    for (const [company_id, of_company] of Map.groupBy(candidates, (candidate) => candidate.company_id))
      for (const some of chunks(of_company, CANDIDATES_AT_ONCE))
        found.push(...(await findSome(engine, company_id, some)));
    return found;
  };
}

async function findSome(
  engine: ClickHouse,
  company_id: number,
  candidates: readonly Candidate[],
): Promise<StoredRow[]> {
  const hours = [...new Set(candidates.map(({ entry }) => hourOf(entry)))];
  const rows = await engine.ask(
    `SELECT id, subscription_id, timestamp, usage, metadata FROM usage_events
    WHERE company_id = ${integer(company_id)} AND intDiv(timestamp, ${HOUR_MS}) IN ${integerSet(hours)}
      AND id IN ${uuids([...new Set(candidates.map(({ id }) => id))])}`,
    { timeout_ms: FINDING_MS },
  );
  return rows.map(([id, subscription_id, timestamp, usage, metadata]) => ({
    company_id,
    id: asText(id),
    subscription_id: asNumber(subscription_id),
    timestamp: asNumber(timestamp),
    millionths: toMillionths(asText(usage)),
    metadata: readMetadata(asText(metadata)),
  }));
}
