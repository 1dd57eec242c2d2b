import { isNumberText } from "../../metadata_text.ts";
import type { MetadataCondition } from "../../event_filter.ts";
import {
  CANONICAL,
  NOT_PLAIN,
  PLAIN_CANONICAL,
  storedScalar,
  storedText,
  STRINGS_PATTERN,
} from "../append/stored_metadata.ts";
import { integer, text, textSet, texts } from "../engine/sql.ts";

// The column `metadata` holds JSON all of whose scalars are strings (stored_metadata.ts): what JSONExtractString finds is
// the stored form of a scalar, the JSON of an object or array, and nothing where there is none of them.

/** SQL of metadata as canonical JSON text, of events that have any. */
export const CANONICAL_METADATA = `if(match(metadata, ${text(NOT_PLAIN)}), ${replacedSql(CANONICAL)}, ${replacedSql(PLAIN_CANONICAL)})`;

function replacedSql({ pattern, replacement }: { pattern: string; replacement: string }): string {
  return `replaceRegexpAll(metadata, ${text(pattern)}, ${text(replacement)})`;
}

/** The part of a path that may be the index of an array element. */
const INDEX = /^(?:0|[1-9][0-9]{0,8})$/;

/** SQL of the stored form of the scalar at a key; empty for none. */
export function scalarSql(key: string): string {
  return `arrayMap(found -> if(match(found, '^[{[]'), '', found), [${foundSql(key)}])[1]`;
}

/** SQL of what is at a key, looked up whole and then as a path. */
function foundSql(key: string): string {
  const whole = `JSONExtractString(metadata, ${text(key)})`;
  if (!key.includes(".")) return whole;
  return `if(JSONHas(metadata, ${text(key)}), ${whole}, ${pathSql(key.split("."))})`;
}

function pathSql(parts: readonly string[]): string {
  if (!parts.some((part) => INDEX.test(part)))
    return `JSONExtractString(metadata, ${parts.map(text).join(", ")})`;
  // An index is one of an array only: of an object it would be the number of a member.
  const places = parts.map((part) => (INDEX.test(part) ? Number(part) + 1 : 0));
  return `JSONExtractString(arrayFold((json, part, place) -> if(JSONType(json) = 'Array',
    if(place > 0, JSONExtractRaw(json, place), ''), JSONExtractRaw(json, part)),
    ${texts(parts)}, CAST([${places.map(integer).join()}], 'Array(Int64)'), metadata))`;
}

/** The stored forms of the scalars that a filter's text stands for. */
function storedForms(value: string): string[] {
  // Half of a surrogate pair is no text, and is stored nowhere.
  if (!value.isWellFormed()) return [];
  return [storedText(value), ...(isScalarText(value) ? [storedScalar(value)] : [])];
}

/** Whether the text may be JSON of a scalar other than a string. */
function isScalarText(value: string): boolean {
  return ["true", "false", "null"].includes(value) || isNumberText(value);
}

/**
 * Whether `key` has `value`. A cheap necessary condition comes first: the text that stands wherever the pair does.
 */
export function pairSql(key: string, value: string): string {
  const forms = storedForms(value);
  const before = textBefore(key);
  const hints = forms.map((form) => `position(metadata, ${text(before + JSON.stringify(form))}) > 0`);
  return forms.length === 0 ? "false" : `(${hints.join(" OR ")}) AND ${equalsSql(foundSql(key), [value])}`;
}

/** Whether what was found equals one of a filter's texts. */
function equalsSql(value: string, values: readonly string[]): string {
  const forms = values.flatMap(storedForms);
  return forms.length === 0 ? "false" : `${value} IN ${textSet(forms)}`;
}

/** SQL of a condition. */
export function conditionSql({ key, op, values }: MetadataCondition): string {
  if (op === "is") return anyOf(values.map((one) => `(${pairSql(key, one)})`));
  if (op === "is_not") return `NOT ${equalsSql(foundSql(key), values)}`;
  const value = scalarSql(key);
  if (op === "present") return `${value} NOT IN ${NONE}`;
  if (op === "missing") return `${value} IN ${NONE}`;
  const known = values.filter((one) => one.isWellFormed());
  // The whole metadata holds what its value does: a cheap necessary condition.
  const hints = known.map(hintSql);
  const parts = known.map((one) => `position(text, ${text(lower(one))}) > 0`);
  const holds = `arrayExists(text -> ${anyOf(parts)}, [${lowerSql(textSql("value"))}])`;
  return `(${anyOf(hints)} AND arrayExists(value -> value NOT IN ${NONE} AND ${holds}, [${value}]))`;
}

/** The stored forms of what counts as no value. */
const NONE = textSet(["", storedScalar("null")]);

function anyOf(conditions: readonly string[]): string {
  return conditions.length === 0 ? "false" : `(${conditions.join(" OR ")})`;
}

/** SQL of the text of a scalar that is there, by its stored form. */
function textSql(value: string): string {
  return `if(startsWith(${value}, '#'), substring(${value}, 2), ${value})`;
}

/** SQL of the text of a scalar as groups have it, NULL for none; strings of over `max_length` characters are cut. */
export function groupTextSql(value: string, max_length: number): string {
  const length = integer(max_length);
  const cut = `if(lengthUTF8(text) > ${length}, concat(leftUTF8(text, ${length}), '…'), text)`;
  const is_scalar = "match(value, '^#[-0-9tfn]')";
  const shown = `arrayMap(text -> if(${is_scalar}, text, ${cut}), [${textSql("value")}])[1]`;
  return `arrayMap(value -> if(value IN ${NONE}, NULL, ${shown}), [${value}])[1]`;
}

/** Whether a string value at any depth contains `search`, in any case. */
export function searchSql(search: string): string {
  if (!search.isWellFormed()) return "false";
  const found = `position(${lowerSql(textSql("JSONExtractString(string)"))}, ${text(lower(search))}) > 0`;
  return `(${hintSql(search)} AND arrayExists(string -> string != '' AND ${found},
    extractAll(metadata, ${text(STRINGS_PATTERN)})))`;
}

/** Whether the whole metadata holds a text, in any case: a cheap necessary condition. */
function hintSql(value: string): string {
  const wanted = lower(inside(value));
  if (!/^[ -~]*$/.test(wanted)) return `position(${lowerSql("metadata")}, ${text(wanted)}) > 0`;
  // Of other characters these alone are one of ASCII in lower case.
  const others = Object.entries({ i: "İ", k: "\u212A" }).filter(([character]) => wanted.includes(character));
  const hints = others.map(([, other]) => `position(metadata, ${text(other)}) > 0`);
  return anyOf([`positionCaseInsensitive(metadata, ${text(wanted)}) > 0`, ...hints]);
}

/** A text as it stands within a string of JSON. */
function inside(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

/** SQL of a text in lower case, character by character: the engine's own writes two of them in ways of their own. */
function lowerSql(value: string): string {
  return `lowerUTF8(replaceAll(replaceAll(${value}, 'İ', 'i'), 'Σ', 'σ'))`;
}

function lower(value: string): string {
  return Array.from(value, (character) => Array.from(character.toLowerCase())[0]).join("");
}

/** The text before the value of a key: the end of the key, unless the value may be an array's element. */
function textBefore(key: string): string {
  if (!key.includes(".")) return `${JSON.stringify(key)}:`;
  const last = key.slice(key.lastIndexOf(".") + 1);
  return INDEX.test(last) ? "" : `${JSON.stringify(last).slice(1)}:`;
}
