import { pointerPart } from "../../../../core/errors.ts";
import { type Decimal, decimal } from "../../../../core/money.ts";
import type { EventFilter } from "../usage_store.ts";
import type { Parameters } from "./sql.ts";

/**
 * The strings of canonical JSON text, in their places: a key with its colon, or a value, which is the
 * group. As every string is matched as a whole, quotes and colons inside one never mislead.
 */
const STRINGS = String.raw`"(?:[^"\\]|\\.)*":|("(?:[^"\\]|\\.)*")`;

/** The largest usage that the column holds, in millionths. */
const MAX_MILLIONTHS = 10n ** 18n - 1n;

// big.js's rounding modes: towards zero and away from it.
const DOWN = 0;
const UP = 3;

/** The condition on usage_events that `filter` states, its values added to `parameters`. */
export function whereSql(filter: EventFilter, parameters: Parameters): string {
  const conditions = [`company_id = ${parameters.integer(filter.company_id)}`];
  if (filter.subscription_ids !== undefined) {
    conditions.push(subscriptionSql(filter.subscription_ids, parameters));
  }
  if (filter.start_ms !== undefined) conditions.push(`timestamp >= ${parameters.integer(filter.start_ms)}`);
  if (filter.end_ms !== undefined) conditions.push(`timestamp < ${parameters.integer(filter.end_ms)}`);
  if (filter.min_usage !== undefined) conditions.push(minUsageSql(filter.min_usage, parameters));
  if (filter.max_usage !== undefined) conditions.push(maxUsageSql(filter.max_usage, parameters));
  for (const [key, value] of Object.entries(filter.metadata ?? {})) {
    conditions.push(metadataSql(key, value, parameters));
  }
  if (filter.metadata_search !== undefined) {
    conditions.push(metadataSearchSql(filter.metadata_search, parameters));
  }
  return conditions.join(" AND ");
}

function subscriptionSql(ids: readonly number[], parameters: Parameters): string {
  const [only] = ids;
  if (only === undefined) return "false";
  // One value is compared directly: the engine can skip blocks by it.
  if (ids.length === 1) return `subscription_id = ${parameters.integer(only)}`;
  return `subscription_id IN (SELECT unnest(${parameters.integers(ids)}))`;
}

function minUsageSql(min: Decimal, parameters: Parameters): string {
  const scaled = decimal(min).times("1000000");
  const millionths = BigInt(scaled.round(0, scaled.lt("0") ? DOWN : UP).toFixed());
  if (millionths > MAX_MILLIONTHS) return "false";
  return millionths < -MAX_MILLIONTHS ? "true" : `usage >= ${parameters.usage(millionths)}`;
}

function maxUsageSql(max: Decimal, parameters: Parameters): string {
  // usage <= max is -usage >= -max, but negating a column would hide it from the engine's block statistics.
  const scaled = decimal(max).times("1000000");
  const millionths = BigInt(scaled.round(0, scaled.lt("0") ? UP : DOWN).toFixed());
  if (millionths < -MAX_MILLIONTHS) return "false";
  return millionths > MAX_MILLIONTHS ? "true" : `usage <= ${parameters.usage(millionths)}`;
}

/**
 * The pair's exact condition. A JSON pointer reaches the value, never a JSON path, where a key such as `*`
 * would be a wildcard. Before it comes a cheap necessary one: canonical text holds the JSON text of the
 * value wherever the value is, be it a string or not.
 */
function metadataSql(key: string, value: string, parameters: Parameters): string {
  const whole = `json_extract(metadata, ${parameters.text(pointer([key]))})`;
  const found = key.includes(".")
    ? `coalesce(${whole}, json_extract(metadata, ${parameters.text(pointer(key.split(".")))}))`
    : whole;
  const text = parameters.text(value);
  const number = isCanonicalNumber(value) ? `try_cast(${found} AS DOUBLE) = ${text}::DOUBLE` : "false";
  return `contains(metadata, ${parameters.text(jsonInner(value))})
    AND CASE json_type(${found})
      WHEN 'VARCHAR' THEN json_extract_string(${found}, '') = ${text}
      WHEN 'BOOLEAN' THEN ${found}::VARCHAR = ${text}
      WHEN 'NULL' THEN ${found}::VARCHAR = ${text}
      WHEN 'OBJECT' THEN false
      WHEN 'ARRAY' THEN false
      ELSE ${number} END`;
}

/** The cheap necessary condition on the whole text, then the exact one on each string value. */
function metadataSearchSql(search: string, parameters: Parameters): string {
  const values = `regexp_extract_all(metadata, ${parameters.text(STRINGS)}, 1)`;
  const value = `lower(json_extract_string(value, ''))`;
  const wanted = `lower(${parameters.text(search)})`;
  return `contains(lower(metadata), lower(${parameters.text(jsonInner(search))}))
    AND len(list_filter(${values}, lambda value: value <> '' AND contains(${value}, ${wanted}))) > 0`;
}

function pointer(keys: readonly string[]): string {
  return keys.map((key) => `/${pointerPart(key)}`).join("");
}

/** A string's JSON text without its quotes. */
function jsonInner(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/**
 * True for the text that JSON.stringify gives a number. Numbers are then compared as numbers: equal ones
 * have one canonical text, while the engine's own text for large ones is not the canonical one.
 */
function isCanonicalNumber(text: string): boolean {
  const number = Number(text);
  return Number.isFinite(number) && JSON.stringify(number) === text;
}
