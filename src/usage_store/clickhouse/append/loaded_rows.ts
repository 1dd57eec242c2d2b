import type { EventRows } from "../../event_rows.ts";
import type { CanonicalJson } from "../../metadata.ts";
import type { NewEvent } from "../../port.ts";

/** Rows of a file that wait for their commits at once, and the characters of their metadata: another process may store them. */
const LOADED_AT_ONCE = 10_000;
const LOADED_CHARACTERS = 16_000_000;

/** Rows in parts that are loaded at once. */
export function* loads(rows: EventRows, all: readonly number[]): Generator<number[]> {
  let [part, characters]: [number[], number] = [[], 0];
  for (const row of all) {
    part.push(row);
    characters += rows.metadataOf(row)?.length ?? 0;
    if (part.length < LOADED_AT_ONCE && characters < LOADED_CHARACTERS) continue;
    yield part;
    [part, characters] = [[], 0];
  }
  if (part.length > 0) yield part;
}

/** A row as an event. */
export function eventOf(rows: EventRows, row: number): NewEvent {
  return {
    id: rows.idOf(row),
    subscription_id: rows.subscription_ids[row] ?? 0,
    timestamp: rows.timestamps[row] ?? 0,
    timestamp_given: true,
    usage: rows.usageOf(row),
    // The caller made it canonical.
    metadata: rows.metadataOf(row) as CanonicalJson | null,
  };
}
