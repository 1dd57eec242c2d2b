import { pointerPart } from "../../../core/errors.ts";
import type { Parameters } from "../engine/sql.ts";

// The column `metadata` holds canonical JSON text. A JSON pointer reaches a value in it, never a JSON path,
// where a key such as `*` would be a wildcard.

/** The part of a path that may be the index of an array element. */
const INDEX = /^(?:0|[1-9][0-9]*)$/;

/** The inside of a JSON string, escapes as a whole: a match must not begin within one. */
const INSIDE = String.raw`(?:[^"\\]|\\u[0-9a-f]{4}|\\[^u])*`;

/** A JSON pointer of keys. */
export function pointer(keys: readonly string[]): string {
  return keys.map((key) => `/${pointerPart(key)}`).join("");
}

/** The pointers at which a key is looked up, in order: whole, then as a path. */
export function pointersOf(key: string): string[] {
  return key.includes(".") ? [pointer([key]), pointer(key.split("."))] : [pointer([key])];
}

/** SQL of the JSON text at `key`, NULL without such a key. */
function foundSql(key: string, parameters: Parameters): string {
  const found = pointersOf(key).map((place) => `json_extract(metadata, ${parameters.text(place)})`);
  return `coalesce(${found.join(", ")})`;
}

/**
 * Whether `key` has `value`. A cheap necessary condition comes first: the text that canonical JSON contains wherever
 * the pair is.
 */
export function pairSql(key: string, value: string, parameters: Parameters): string {
  const before = textBefore(key);
  const texts = [`${before}${JSON.stringify(value)}`, ...(isScalarText(value) ? [`${before}${value}`] : [])];
  const hints = texts.map((text) => `contains(metadata, ${parameters.text(text)})`);
  return `(${hints.join(" OR ")}) AND ${equalsSql(foundSql(key, parameters), value, parameters)}`;
}

/** Whether the JSON at `found`, NULL for none, is a scalar that equals a filter's text. */
export function equalsSql(found: string, value: string, parameters: Parameters): string {
  const wanted = parameters.text(value);
  const number = isNumberText(value) ? `try_cast(${found} AS DOUBLE) = ${wanted}::DOUBLE` : "false";
  return `CASE json_type(${found})
      WHEN 'VARCHAR' THEN json_extract_string(${found}, '') = ${wanted}
      WHEN 'BOOLEAN' THEN ${found}::VARCHAR = ${wanted}
      WHEN 'NULL' THEN ${found}::VARCHAR = ${wanted}
      WHEN 'OBJECT' THEN false
      WHEN 'ARRAY' THEN false
      ELSE ${number} END`;
}

/**
 * Whether a string value at any depth contains `search`, in any case. A cheap condition on the whole text comes first;
 * then its strings are matched from the start on, where those before a colon are keys.
 */
export function searchSql(search: string, parameters: Parameters): string {
  const inner = JSON.stringify(search).slice(1, -1);
  const literal = inner.replaceAll(/[\\^$.|?*+()[\]{}]/g, String.raw`\$&`);
  const before = `^(?:[^"]|"${INSIDE}")*?"${INSIDE}`;
  const after = `${INSIDE}"[,}\\]]`;
  const pattern = `${parameters.text(before)} || lower(${parameters.text(literal)}) || ${parameters.text(after)}`;
  return `contains(lower(metadata), lower(${parameters.text(inner)}))
    AND regexp_matches(lower(metadata), ${pattern})`;
}

/** SQL of the value of `key` as JSON text, empty unless it is a scalar. */
export function valueSql(key: string, parameters: Parameters): string {
  const json = `(${foundSql(key, parameters)})::VARCHAR`;
  return `if(${json} IS NULL OR ${json} = 'null' OR ${isContainerSql(json)}, '', ${json})`;
}

/** SQL of the group value of `key` as JSON text, NULL unless it is a scalar; long strings are truncated. */
export function groupTextSql(key: string, max_length: number, parameters: Parameters): string {
  const json = `(${foundSql(key, parameters)})::VARCHAR`;
  return `if(${json} = 'null' OR ${isContainerSql(json)}, NULL, ${cutSql(json, max_length, parameters)})`;
}

/** As `groupTextSql`, of a `value` as `valueSql` gives it. */
export function storedGroupSql(max_length: number, parameters: Parameters): string {
  return `if(value = '', NULL, ${cutSql("value", max_length, parameters)})`;
}

/** Whether JSON text is an object or array. */
export function isContainerSql(json: string): string {
  return `starts_with(${json}, '{') OR starts_with(${json}, '[')`;
}

/** JSON text, with a string of over `max_length` characters truncated to these and `…`. */
export function cutSql(json: string, max_length: number, parameters: Parameters): string {
  const [text, length] = [`json_extract_string(${json}, '')`, parameters.integer(max_length)];
  return `if(strlen(${json}) <= ${length} OR NOT starts_with(${json}, '"') OR length(${text}) <= ${length},
    ${json}, to_json(left(${text}, ${length}) || '…')::VARCHAR)`;
}

/**
 * A scalar of JSON text in the form of filters. Several texts give the same: a number and the string of its digits, and
 * the engine's own text for large numbers is not the canonical one.
 */
export function readScalar(json: string): string {
  const value: unknown = JSON.parse(json);
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** How many JSON texts may give the same scalar. */
export const TEXTS_OF_A_SCALAR = 2;

/** The text before the value of a key: the end of the key, unless the value may be an array's element. */
function textBefore(key: string): string {
  if (!key.includes(".")) return `${JSON.stringify(key)}:`;
  const last = key.slice(key.lastIndexOf(".") + 1);
  return INDEX.test(last) ? "" : `${JSON.stringify(last).slice(1)}:`;
}

/** Whether the text may be JSON of a scalar other than a string. */
function isScalarText(text: string): boolean {
  return ["true", "false", "null"].includes(text) || isNumberText(text);
}

/**
 * True for the text that JSON.stringify gives a number. Numbers are then compared as numbers: equal ones
 * have one canonical text, while the engine's own text for large ones is not the canonical one.
 */
function isNumberText(text: string): boolean {
  const number = Number(text);
  return Number.isFinite(number) && JSON.stringify(number) === text;
}
