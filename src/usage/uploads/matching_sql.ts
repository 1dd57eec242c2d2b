import { quoteText } from "../../usage_store/duckdb/engine/sql.ts";
import { ROLES, type RoleValues } from "../import/columns_sql.ts";
import { quoteName } from "../import/file_tables.ts";
import { LIMITS } from "../limits.ts";
import type { AmountSource, Factor, Matching, MetadataKey, Summand, TextSource } from "./model.ts";

// SQL of what a matching means. A file's and a user's texts stand in it quoted, as names and literals, nowhere else.

/** The name under which a column is read as the text in the file: the engine takes names that differ by case for one. */
export const rawName = (column: string) => `text ${Buffer.from(column).toString("hex")}`;

const textOf = (column: string) => quoteName(rawName(column));

/** The SQL of each part of an event; all are text. */
export function matchedValues(matching: Matching): RoleValues {
  const { subscription, timestamp, usage, id, metadata } = matching;
  const sql = {
    subscription: textSql(subscription),
    timestamp: textSql(timestamp),
    usage: amountSql(usage),
    id: id === undefined ? ABSENT : textOf(id.column),
    metadata: metadataSql(metadata),
  };
  return new Map(ROLES.map((role) => [role, { sql: sql[role], type: "VARCHAR" }]));
}

const ABSENT = "NULL::VARCHAR";

function textSql({ column, constant = "" }: TextSource): string {
  return column === undefined ? quoteText(constant) : textOf(column);
}

/** A column's own text, or what is computed in decimals: exact, or null. */
function amountSql(usage: AmountSource): string {
  const computed = computedSql(usage);
  if (computed !== undefined) return `(${computed})::VARCHAR`;
  const { column, constant = "" } = usage;
  return column === undefined ? quoteText(constant) : textOf(column);
}

const summandsOf = ({ sum, ...summand }: AmountSource): readonly Summand[] => sum ?? [summand];

/** SQL of a sum or product as a decimal; undefined where nothing is computed. */
function computedSql(usage: AmountSource): string | undefined {
  if (usage.sum === undefined && usage.product === undefined) return undefined;
  const parts = summandsOf(usage).map((part) => factorsOf(part).map(numberSql).join(" * "));
  return `TRY(${parts.join(" + ")})`;
}

/** SQL of why a row's usage can't be computed; null where it can. */
export function usageProblem({ usage }: Matching): string {
  const computed = computedSql(usage);
  if (computed === undefined) return "NULL";
  const shown = summandsOf(usage).map((part) => joined(factorsOf(part).map(shownSql), " × "));
  const reason = `concat('usage must be computed of numbers with at most ${PLACES} places, and is ', ${joined(shown, " + ")})`;
  return `CASE WHEN ${computed} IS NULL THEN ${reason} END`;
}

const factorsOf = ({ product, ...factor }: Summand): readonly Factor[] => product ?? [factor];

/** Texts one after another; `concat` takes null for nothing. */
const joined = (parts: readonly string[], by: string) => `concat(${parts.join(`, ${quoteText(by)}, `)})`;

/** Above this precision the engine multiplies in 38 digits; below it, in 18. */
const DIGITS = 30;
const PLACES = 6;
const NUMBER = quoteText(`[+-]?[0-9]{1,12}([.][0-9]{0,${PLACES}}0*)?`);

/** A factor as a decimal; null for a text that is none, or has more places than usage has. */
function numberSql({ column, constant }: Factor): string {
  if (column !== undefined) {
    const text = `trim(${textOf(column)})`;
    return `(CASE WHEN regexp_full_match(${text}, ${NUMBER}) THEN ${text}::DECIMAL(${DIGITS},${PLACES}) END)`;
  }
  const number = constant ?? "0";
  const places = number.split(".")[1]?.length ?? 0;
  return `(${quoteText(number)}::DECIMAL(${DIGITS},${places}))`;
}

function shownSql({ column, constant }: Factor): string {
  if (column === undefined) return quoteText(constant ?? "");
  return `left(coalesce(${textOf(column)}, 'nothing'), ${LIMITS.usage_upload_sample_length})`;
}

function metadataSql(metadata: Matching["metadata"]): string {
  if (metadata === undefined) return ABSENT;
  const { column, keys = [] } = metadata;
  if (column !== undefined) return textOf(column);
  // In the order of canonical JSON, so that most rows need no second look.
  const members = keys.toSorted((a, b) => (a.key < b.key ? -1 : 1)).map(memberSql);
  return `concat('{', concat_ws(',', ${members.join(", ")}), '}')`;
}

/** A number as JSON and as canonical texts have it. */
const JSON_NUMBER = quoteText("0|-?[1-9][0-9]{0,14}|-?(0|[1-9][0-9]{0,8})[.][0-9]{0,5}[1-9]");

/** A member of an object; null where the row has no value. */
function memberSql({ key, as, ...source }: MetadataKey): string {
  const text = textSql(source);
  const string = `to_json(${text})::VARCHAR`;
  const value =
    as === "number"
      ? `CASE WHEN regexp_full_match(${text}, ${JSON_NUMBER}) THEN ${text} ELSE ${string} END`
      : string;
  return `CASE WHEN ${text} IS NOT NULL AND ${text} <> '' THEN concat(${quoteText(`${JSON.stringify(key)}:`)}, ${value}) END`;
}
