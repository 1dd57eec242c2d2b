import { interleave, ROWS_A_TURN } from "../../../core/chunk.ts";
import { look, placeOf } from "../../meter_reader.ts";
import { parseMetadata } from "../../metadata.ts";
import type { KeysQuery, KeysResult, KeyUse } from "../../port.ts";
import { readMetadata } from "../append/stored_metadata.ts";
import type { Bounds, ClickHouse } from "../engine/engine.ts";
import { asText, integer } from "../engine/sql.ts";
import { whereSql } from "./filters.ts";
import { orderSql } from "./search.ts";

type MetadataObject = Record<string, unknown>;

/** The keys of the newest events. They are few: looked at here, one by one. */
export async function metadataKeys(
  engine: ClickHouse,
  wanted: KeysQuery,
  bounds: Bounds,
): Promise<KeysResult> {
  const { events, objects, all_events } = await newest(engine, wanted, bounds);
  const names = new Set<string>();
  let all_inside = true;
  for await (const some of interleave(objects, ROWS_A_TURN))
    for (const object of some) if (!addNames(names, object, wanted)) all_inside = false;
  const keys: KeyUse[] = [];
  for await (const [name] of interleave([...names], 1)) {
    const use = name === undefined ? undefined : useOf(name, objects, wanted);
    if (use !== undefined) keys.push(use);
  }
  const sorted = keys.toSorted((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1));
  return {
    events,
    all_events,
    keys: sorted.slice(0, wanted.max_keys),
    all_keys: all_inside && sorted.length <= wanted.max_keys,
  };
}

/** The metadata of the newest events within the bounds, one event at least. */
async function newest(
  engine: ClickHouse,
  wanted: KeysQuery,
  bounds: Bounds,
): Promise<{ events: number; objects: MetadataObject[]; all_events: boolean }> {
  const order = orderSql({ sort_by: "timestamp", sort_order: "desc" });
  const sql = `SELECT metadata FROM usage_events WHERE ${whereSql(wanted)} ${order} LIMIT ${integer(wanted.max_events + 1)}`;
  const objects: MetadataObject[] = [];
  let [events, bytes] = [0, 0];
  for await (const rows of engine.stream(sql, bounds)) {
    for (const [stored] of rows) {
      const json = readMetadata(asText(stored));
      bytes += json === null ? 0 : Buffer.byteLength(json);
      if (events === wanted.max_events || (events > 0 && bytes > wanted.max_bytes))
        return { events, objects, all_events: false };
      events++;
      if (json !== null) objects.push(parseMetadata(json));
    }
  }
  return { events, objects, all_events: true };
}

/** Adds the names of what is inside a value, as filters name it. False: there is more, deeper than is looked. */
function addNames(
  names: Set<string>,
  object: unknown,
  wanted: KeysQuery,
  before: readonly string[] = [],
): boolean {
  if (typeof object !== "object" || object === null) return true;
  // Filters take a dot in a key as a step of the path, unless the key stands at the top.
  if (before.some((key) => key.includes("."))) return true;
  if (before.length === wanted.max_depth) return false;
  const members = Array.isArray(object)
    ? Object.entries(object).slice(0, wanted.max_elements)
    : Object.entries(object);
  let is_all = true;
  for (const [key, value] of members) {
    if (Array.from(key).length > wanted.max_key_length) continue;
    if (before.length > 0 && key.includes(".")) continue;
    const keys = [...before, key];
    names.add(keys.join("."));
    if (!addNames(names, value, wanted, keys)) is_all = false;
  }
  return is_all;
}

/** The use of a key; undefined where no event has a scalar at it. */
function useOf(
  key: string,
  objects: readonly MetadataObject[],
  { max_samples, max_sample_length }: KeysQuery,
): KeyUse | undefined {
  const place = placeOf(key);
  const counts = new Map<string, number>();
  let count = 0;
  for (const object of objects) {
    const found = look(object, place);
    if (found === undefined || (typeof found === "object" && found !== null)) continue;
    count++;
    const text = typeof found === "string" ? cut(found, max_sample_length) : JSON.stringify(found);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  if (count === 0) return undefined;
  const frequent = [...counts].toSorted(([, a], [, b]) => b - a);
  return { key, count, samples: frequent.slice(0, max_samples).map(([text]) => text) };
}

function cut(text: string, max_length: number): string {
  if (text.length <= max_length) return text;
  const characters = Array.from(text);
  return characters.length <= max_length ? text : `${characters.slice(0, max_length).join("")}…`;
}
