import { chunks } from "../../../core/chunk.ts";
import { ERASED, ERASED_KEY, erasedMetadata } from "../../erased_metadata.ts";
import type { ErasureQuery } from "../../erasures.ts";
import { readMetadata, storedMetadata, storedScalar } from "../append/stored_metadata.ts";
import type { Bounds, ClickHouse } from "../engine/engine.ts";
import { asNumber, asText, integer, lines, text, textSet, texts, uuids } from "../engine/sql.ts";
import { whereSql } from "../query/filters.ts";

/** Ids of one statement: each change writes the parts of the table anew in which any of its events are. */
const IDS_AT_ONCE = 10_000;

/** Characters of metadata that one change writes. */
const PORTION = 4_000_000;

/** How long a change may take. */
const CHANGE_MS = 600_000;

/** As `UsageErasures.findUnerased`. */
export async function findUnerased(
  engine: ClickHouse,
  { ids, last_seq, keep = [], ...filter }: ErasureQuery,
  limit: number,
  bounds: Bounds,
): Promise<string[]> {
  if (ids?.length === 0) return [];
  const conditions = [
    whereSql(filter),
    `seq <= ${integer(last_seq)}`,
    `NOT ${isErasedSql(keep)}`,
    ...(ids === undefined ? [] : [`id IN ${uuids(ids)}`]),
  ];
  const sql = `SELECT toString(id) FROM usage_events WHERE ${conditions.join(" AND ")} LIMIT ${integer(limit)}`;
  return (await engine.ask(sql, bounds)).map(([id]) => asText(id));
}

/** SQL of whether the metadata of an event is erased, but for the keys to keep: whether `erasedMetadata` would change nothing. */
function isErasedSql(keep: readonly string[]): string {
  const whole = `metadata = ${text(storedMetadata(ERASED))}`;
  if (keep.length === 0) return `(${whole})`;
  const marked = `JSONExtractString(metadata, ${text(ERASED_KEY)}) = ${text(storedScalar("true"))}`;
  const known = `hasAll(${texts([...keep, ERASED_KEY])}, JSONExtractKeys(metadata))`;
  const plain = keep.map((key) => `JSONType(metadata, ${text(key)}) NOT IN ${textSet(["Object", "Array"])}`);
  return `(${[whole, `(${[marked, known, ...plain].join(" AND ")})`].join(" OR ")})`;
}

/** Erases the metadata of a company's events. What is erased already is passed over. */
export async function eraseMetadata(
  engine: ClickHouse,
  {
    company_id,
    lane,
    ids,
    keep,
  }: { company_id: number; lane: number; ids: readonly string[]; keep: readonly string[] },
): Promise<void> {
  for (const some of chunks([...new Set(ids)], IDS_AT_ONCE)) {
    const where = `company_id = ${integer(company_id)} AND NOT ${isErasedSql(keep)} AND id IN ${uuids(some)}`;
    const erased = await erasedTexts(engine, where, keep);
    for (const portion of portionsOf(erased)) await replace(engine, { company_id, lane }, portion);
  }
}

/** An event, the hour of which bounds what is read, and what stands in place of its metadata. */
interface Erased {
  id: string;
  timestamp: number;
  stored: string;
}

async function erasedTexts(engine: ClickHouse, where: string, keep: readonly string[]): Promise<Erased[]> {
  // Without keys to keep nothing of what was is needed.
  const metadata = keep.length === 0 ? "''" : "metadata";
  const sql = `SELECT toString(id), timestamp, ${metadata} FROM usage_events WHERE ${where}`;
  const rows = await engine.ask(sql, { timeout_ms: CHANGE_MS });
  return rows.map(([id, timestamp, stored]) => ({
    id: asText(id),
    timestamp: asNumber(timestamp),
    stored: storedMetadata(erasedMetadata(readMetadata(asText(stored)), keep)),
  }));
}

/** The events in portions of so much metadata, of one event at least. */
function* portionsOf(events: readonly Erased[]): Generator<Erased[]> {
  let [portion, size]: [Erased[], number] = [[], 0];
  for (const event of events) {
    if (portion.length > 0 && size + event.stored.length > PORTION) {
      yield portion;
      [portion, size] = [[], 0];
    }
    portion.push(event);
    size += event.stored.length;
  }
  if (portion.length > 0) yield portion;
}

/** Changes the rows, and resolves when that is durable. */
async function replace(
  engine: ClickHouse,
  { company_id, lane }: { company_id: number; lane: number },
  events: readonly Erased[],
): Promise<void> {
  const times = events.map(({ timestamp }) => timestamp);
  const ids = events.map(({ id }) => id);
  await engine.run(
    `ALTER TABLE usage_events UPDATE metadata = ${metadataSql(events, ids)} IN PARTITION ${integer(lane)}
    WHERE company_id = ${integer(company_id)} AND timestamp >= ${integer(times.reduce((a, b) => Math.min(a, b)))}
      AND timestamp <= ${integer(times.reduce((a, b) => Math.max(a, b)))} AND id IN ${uuids(ids)}`,
    CHANGE_MS,
    { mutations_sync: "2" },
  );
}

/** SQL of what stands in place of an event's metadata. */
function metadataSql(events: readonly Erased[], ids: readonly string[]): string {
  const stored = events.map((event) => event.stored);
  const [first = ""] = stored;
  if (stored.every((one) => one === first)) return text(first);
  return `transform(toString(id), ${lines(ids)}, ${lines(stored)}, metadata)`;
}
