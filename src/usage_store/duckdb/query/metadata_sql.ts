import { pointerPart } from "../../../core/errors.ts";
import type { MetadataCondition } from "../../event_filter.ts";
import { isNumberText } from "../../metadata_text.ts";
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
  return `(${hints.join(" OR ")}) AND ${equalsSql(foundSql(key, parameters), [value], parameters)}`;
}

/** SQL of a condition, never NULL in what it excludes. */
export function conditionSql(condition: MetadataCondition, parameters: Parameters): string {
  const { key, op, values } = condition;
  // The engine refuses parameters that a statement has no use for.
  if (values.length === 0 && !takesNoValues(condition)) return op === "is_not" ? "true" : "false";
  if (op === "is") return anyOf(values.map((value) => `(${pairSql(key, value, parameters)})`));
  // Not of its value: JSON's null is none, and is a text of filters.
  if (op === "is_not") return `NOT ${equalsSql(foundSql(key, parameters), values, parameters)}`;
  const holds = valueConditionSql(condition, valueSql(key, parameters), parameters);
  if (op !== "contains") return holds;
  // The whole metadata holds what its value does: a cheap necessary condition.
  const hints = values.map((value) => {
    const inner = parameters.text(JSON.stringify(value).slice(1, -1));
    return `contains(lower(metadata), lower(${inner}))`;
  });
  return `(${anyOf(hints)} AND ${holds})`;
}

/** SQL of a condition on its key's `value`, as `valueSql` gives it, or as sums by the key hold it. */
export function valueConditionSql(
  { op, values }: MetadataCondition,
  value: string,
  parameters: Parameters,
): string {
  if (op === "present") return `${value} <> ''`;
  if (op === "missing") return `${value} = ''`;
  if (values.length === 0) return op === "is_not" ? "true" : "false";
  if (op !== "contains") return `${op === "is" ? "" : "NOT "}${equalsSql(value, values, parameters)}`;
  const parts = values.map((one) => `contains(text, lower(${parameters.text(one)}))`);
  return letSql("text", `lower(${scalarTextSql(value)})`, `coalesce(${anyOf(parts)}, false)`);
}

function takesNoValues({ op }: MetadataCondition): boolean {
  return op === "present" || op === "missing";
}

function anyOf(conditions: readonly string[]): string {
  return `(${conditions.join(" OR ")})`;
}

/**
 * Whether the JSON at `found`, NULL for none, is a scalar that equals one of a filter's texts; false without it. JSON is
 * compared as text, once it was extracted: only strings with escapes and numbers that the engine may write in a way of
 * its own are read.
 */
export function equalsSql(found: string, values: readonly string[], parameters: Parameters): string {
  const texts = values.flatMap((value) => [JSON.stringify(value), ...(isScalarText(value) ? [value] : [])]);
  const listOf = (all: readonly string[]) => all.map((text) => parameters.text(text)).join(", ");
  const numbers = values.filter(isNumberText);
  const number =
    numbers.length === 0
      ? ""
      : `WHEN NOT starts_with(json, '"') AND NOT (${PLAIN})
        THEN coalesce(try_cast(json AS DOUBLE) IN (${numbers.map((one) => `${parameters.text(one)}::DOUBLE`).join(", ")}), false)`;
  return letSql(
    "json",
    `(${found})::VARCHAR`,
    `CASE WHEN json IN (${listOf(texts)}) THEN true
      WHEN starts_with(json, '"') AND contains(json, '\\') THEN json_extract_string(json, '') IN (${listOf(values)})
      ${number} ELSE false END`,
  );
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
  return letSql("json", json, `if(json IS NULL OR json = 'null' OR ${isContainerSql("json")}, '', json)`);
}

/** SQL of the group value of `key` as JSON text, NULL unless it is a scalar; long strings are truncated. */
export function groupTextSql(key: string, max_length: number, parameters: Parameters): string {
  const json = `(${foundSql(key, parameters)})::VARCHAR`;
  return `if(${json} = 'null' OR ${isContainerSql(json)}, NULL, ${cutSql(json, max_length, parameters)})`;
}

/** As `groupTextSql`, of a `value` as `valueSql` gives it. */
export function storedGroupSql(value: string, max_length: number, parameters: Parameters): string {
  return `if(${value} = '', NULL, ${cutSql(value, max_length, parameters)})`;
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

/** JSON of a number of so many characters, without an exponent, is the canonical text. */
const PLAIN_NUMBER = 15;
const PLAIN = `strlen(json) <= ${PLAIN_NUMBER} AND NOT contains(lower(json), 'e')`;

/**
 * SQL of a scalar in the form of filters, as `readScalar`, from JSON text as `valueSql` gives it: NULL for none. The
 * engine writes large and small numbers in a way of its own, 1e20 and 1e-06: these are written anew as JSON.stringify does.
 */
export function scalarTextSql(value: string): string {
  return letSql(
    "json",
    value,
    `CASE WHEN json = '' THEN NULL
      WHEN starts_with(json, '"') THEN json_extract_string(json, '')
      WHEN json IN ('true', 'false') OR (${PLAIN}) THEN json
      ELSE ${letSql("text", "try_cast(json AS DOUBLE)::VARCHAR", NUMBER_TEXT)} END`,
  );
}

/** SQL of the text that JSON.stringify gives a number, from the engine's own `text`: `1.5e+20`, `-2e-07`, `12.0`. */
const NUMBER_TEXT = `CASE WHEN NOT contains(text, 'e') THEN regexp_replace(text, '[.]0$', '')
  ELSE regexp_extract(text, '^-?') || ${letSql(
    "number",
    `{ digits: replace(regexp_extract(text, '^-?([0-9.]+)', 1), '.', ''),
       exponent: regexp_extract(text, 'e([-+][0-9]+)$', 1)::BIGINT }`,
    `CASE WHEN number.exponent NOT BETWEEN -6 AND 20
        THEN number.digits[1] || if(strlen(number.digits) > 1, '.' || substr(number.digits, 2), '')
          || if(number.exponent < 0, 'e-', 'e+') || abs(number.exponent)
      WHEN number.exponent < 0 THEN '0.' || repeat('0', -1 - number.exponent) || number.digits
      WHEN strlen(number.digits) <= number.exponent + 1 THEN
        number.digits || repeat('0', number.exponent + 1 - strlen(number.digits))
      ELSE number.digits[:number.exponent + 1] || '.' || substr(number.digits, number.exponent + 2) END`,
  )} END`;

/** SQL of an expression in which `name` stands for a value that is computed once. */
function letSql(name: string, value: string, expression: string): string {
  return `list_transform([${value}], lambda ${name}: ${expression})[1]`;
}

/** As `scalarTextSql`, with strings of over `max_length` characters truncated to these and `…`. */
export function cutTextSql(value: string, max_length: number, parameters: Parameters): string {
  const length = parameters.integer(max_length);
  const cut = `if(starts_with(${value}, '"') AND length(text) > ${length}, left(text, ${length}) || '…', text)`;
  return letSql("text", scalarTextSql(value), cut);
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
