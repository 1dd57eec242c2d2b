import { isZero, subtract, sum } from "../../../core/money.ts";
import { metadataKeyOf } from "../../port.ts";
import type { MeterFilter, MeterTerm, MeterTerms, MeterUse } from "../../meter.ts";
import { quoteText, type Parameters } from "../engine/sql.ts";
import type { KeysOfEvents } from "./keys_of_events.ts";
import { equalsSql, isContainerSql } from "./metadata_sql.ts";

// What a meter reads of an event. Numbers are DECIMAL(24,12), factors DECIMAL(12,6): five products and their sum fit
// into 38 digits, so that nothing is rounded before the value is.

/** What a string must be to count as a number. */
const DIGITS = "-?[0-9]+([.][0-9]+)?";

/** SQL of a filter's condition. */
export function conditionSql(
  { key, op, values }: MeterFilter,
  keys: KeysOfEvents,
  parameters: Parameters,
): string {
  const found = keys.at(key);
  if (op === "exists") return `(${textSql(found)}) IS NOT NULL`;
  if (op === "missing") return `(${textSql(found)}) IS NULL`;
  const isIn = values.length === 0 ? "false" : equalsSql(found, values, parameters);
  return op === "in" ? isIn : `NOT ${isIn}`;
}

/** SQL of whether a meter counts an event: its filters hold, and it reads a value. */
export function countsSql(meter: MeterTerms, keys: KeysOfEvents, parameters: Parameters): string {
  const conditions = meter.filters.map((filter) => conditionSql(filter, keys, parameters));
  return `coalesce(${[...conditions, `(${valueSql(meter, keys)}) IS NOT NULL`].join(" AND ")}, false)`;
}

/** SQL of the part of an event, as JSON text. */
export function partSql(parts: MeterUse["parts"], keys: KeysOfEvents, parameters: Parameters): string {
  const whole = wholePart(parts);
  if (whole !== undefined) return quoteText(whole);
  if ("keys" in parts) {
    return `to_json([${parts.keys.map((key) => textSql(keys.at(key))).join(", ")}])::VARCHAR`;
  }
  const cases = parts.matches.map((match, i) => {
    const equal = Object.entries(match).map(([key, value]) => equalsSql(keys.at(key), [value], parameters));
    return `WHEN ${equal.join(" AND ")} THEN '${i}'`;
  });
  return `CASE ${cases.join(" ")} ELSE '-1' END`;
}

/** The part of every event, as JSON text, where all are one. */
export function wholePart(parts: MeterUse["parts"]): string | undefined {
  if ("keys" in parts) return parts.keys.length === 0 ? "[]" : undefined;
  return parts.matches.length === 0 ? "-1" : undefined;
}

/** SQL of the value that a meter reads of an event, NULL for none. */
export function valueSql({ aggregation, value }: MeterTerms, keys: KeysOfEvents): string {
  if (aggregation === "count") return "1::DECIMAL(18,6)";
  if (aggregation === "unique") return textSql(keys.at(metadataKeyOf(value[0]?.key ?? "") ?? ""));
  const [only, ...others] = value;
  if (only?.key === "usage" && others.length === 0 && isOne(only.times)) return "usage";
  const exact = `try_cast(${value.map((term) => termSql(term, keys)).join(" + ")} AS DECIMAL(18,6))`;
  const quick = quickSql(value, keys);
  return quick === undefined ? exact : `CASE ${quick} ELSE ${exact} END`;
}

/**
 * What is read without loss as a decimal of six digits after the point, with or without the quotes of a string. Five of
 * them stay under 1e12: the engine fails where a sum of DECIMAL(18,6) does not fit, and no try_cast around it helps.
 */
const SHORT_DIGITS = "-?[0-9]{1,11}([.][0-9]{1,6})?";
const SHORT_USAGE = "usage BETWEEN -100000000000 AND 100000000000";

/**
 * SQL of the usual case: numbers of few digits, added or subtracted. To read longer ones takes the engine 5 µs each, and
 * to round them 2 µs; these take a tenth of one.
 */
function quickSql(value: readonly MeterTerm[], keys: KeysOfEvents): string | undefined {
  if (!value.every(({ times }) => isOne(times) || isZero(sum([times, "1"])))) return undefined;
  const texts = value.flatMap(({ key }) => {
    const metadata_key = metadataKeyOf(key);
    return metadata_key === undefined ? [] : [shortText(metadata_key, keys)];
  });
  const usages = value.some(({ key }) => metadataKeyOf(key) === undefined) ? [SHORT_USAGE] : [];
  const are_short = texts.map((text) => `regexp_full_match(${text}, '${SHORT_DIGITS}')`);
  const terms = value.map(({ key, times }) => {
    const metadata_key = metadataKeyOf(key);
    const number =
      metadata_key === undefined ? "usage" : `try_cast(${shortText(metadata_key, keys)} AS DECIMAL(18,6))`;
    return isOne(times) ? `+ ${number}` : `- ${number}`;
  });
  return `WHEN ${["true", ...usages, ...are_short].join(" AND ")} THEN try_cast(0::DECIMAL(18,6) ${terms.join(" ")} AS DECIMAL(18,6))`;
}

function shortText(key: string, keys: KeysOfEvents): string {
  return `trim(${keys.at(key)}::VARCHAR, '"')`;
}

function termSql({ key, times }: MeterTerm, keys: KeysOfEvents): string {
  const metadata_key = metadataKeyOf(key);
  const number = metadata_key === undefined ? "usage::DECIMAL(24,12)" : numberSql(keys.at(metadata_key));
  return isOne(times) ? number : `${number} * ${quoteText(times)}::DECIMAL(12,6)`;
}

function isOne(times: string): boolean {
  return isZero(subtract(times, "1"));
}

/** SQL of the number at some JSON: NULL for none, or one of 1e12 or more. */
function numberSql(found: string): string {
  const text = `json_extract_string(${found}, '')`;
  return `CASE WHEN starts_with(${found}::VARCHAR, '"')
    THEN if(regexp_full_match(${text}, '${DIGITS}'), try_cast(${text} AS DECIMAL(24,12)), NULL)
    ELSE ${decimalSql(`${found}::VARCHAR`, 24)} END`;
}

/** SQL of the text of a JSON number to twelve digits; the engine would take 8e-14 for 1e-12, and 4e-14 for 0. */
function decimalSql(json: string, width: number): string {
  const type = `DECIMAL(${width},12)`;
  return `CASE WHEN contains(${json}, 'e-') AND try_cast(${json} AS DOUBLE) BETWEEN -1e-13 AND 1e-13
    THEN 0::${type} ELSE try_cast(${json} AS ${type}) END`;
}

/** SQL of the text at some JSON: of a number its plain decimal, NULL unless it is a string, number or boolean. */
function textSql(found: string): string {
  const json = `${found}::VARCHAR`;
  const decimal = `(${decimalSql(json, 38)})::VARCHAR`;
  return `CASE WHEN starts_with(${json}, '"') THEN json_extract_string(${found}, '')
    WHEN ${json} IN ('true', 'false') THEN ${json}
    WHEN ${isContainerSql(json)} THEN NULL
    ELSE rtrim(rtrim(${decimal}, '0'), '.') END`;
}
