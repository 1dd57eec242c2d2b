/**
 * The SQL that reads a file's rows as events where the result provably equals that of the rules of ingest; all other
 * rows keep their texts, to be validated one by one.
 */
import { LIMITS } from "../limits.ts";
import { ROW } from "../../usage_store/event_rows.ts";
import { quoteText } from "../../usage_store/duckdb/engine/sql.ts";

/** The parts of an event. */
export const ROLES = ["subscription", "timestamp", "usage", "id", "metadata"] as const;
export type Role = (typeof ROLES)[number];

/** The SQL over the file's columns, and its type, of every role. */
export type RoleValues = ReadonlyMap<Role, { sql: string; type: string }>;

/** The enum type that numbers the keys of subscriptions. */
export const KEYS_TYPE = "subscription_keys";

const DATE = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])";
const TIME = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?";
const DATE_TIME = quoteText(`${DATE}[T ]${TIME}`);
const OFFSET_DATE_TIME = quoteText(`${DATE}[T ]${TIME}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])`);
const PLAIN_NUMBER = quoteText("-?[0-9]{1,12}([.][0-9]{1,17})?");
const NO_ID = "'00000000-0000-0000-0000-000000000000'::UUID";

const WHOLE = /^U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)$/;
const FRACTION = /^(FLOAT|DOUBLE|DECIMAL\(\d+,\d+\))$/;
const MILLIONTHS = /^DECIMAL\(\d+,[0-6]\)$/;

/** A file's rows and their properties. */
export interface FileRows {
  /** The FROM clause. */
  from: string;
  /** SQL of the reason why a line is not a row; null for a row. */
  problem: string;
  values: RoleValues;
  /** A regular expression that proves metadata to be canonical. */
  canonical: string | null;
  /** Whether KEYS_TYPE exists: there is none without keys. */
  has_keys: boolean;
}

/** Selects the columns that EventBlock takes. */
export function blockSql({ from, problem, values, canonical, has_keys }: FileRows): string {
  const type = (role: Role) => values.get(role)?.type ?? "VARCHAR";
  const given = [...values].map(([role, { sql }]) => `${sql} AS x_${role}`);
  const metadata = "x_metadata::VARCHAR";
  const is_canonical = canonical === null ? "false" : canonicalSql(metadata, canonical);
  // Nested, not WITH, which the engine may materialize: the rows must stream.
  const given_rows = `SELECT (${problem})::VARCHAR AS x_problem, ${given.join(", ")} FROM ${from}`;
  const cast_rows = `SELECT *, ${castSql(type("timestamp"), "x_timestamp", "BIGINT")} AS x_moment,
    ${castSql(type("id"), "x_id", "UUID")} AS x_uuid FROM (${given_rows})`;
  const typed_rows = `SELECT *,
    ${has_keys ? `enum_code(TRY_CAST(x_subscription::VARCHAR AS ${KEYS_TYPE}))::INTEGER` : "NULL::INTEGER"} AS code,
    ${momentSql(type("timestamp"))} AS moment,
    ${type("id") === "VARCHAR" ? "CASE WHEN lower(x_id) = x_uuid::VARCHAR THEN x_uuid END" : "x_uuid"} AS uuid,
    ${amountSql(type("usage"))} AS amount FROM (${cast_rows})`;
  const judged_rows = `SELECT *,
    CASE WHEN x_id IS NULL THEN ${ROW.without_id} ELSE 0 END
    + CASE WHEN x_problem IS NULL AND code IS NOT NULL AND moment >= 0 AND amount IS NOT NULL
        AND (x_id IS NULL OR uuid IS NOT NULL)
      THEN CASE WHEN x_metadata IS NULL OR ${is_canonical} THEN 0 ELSE ${ROW.non_canonical_metadata} END
      ELSE ${ROW.skipped + ROW.unparsed} END AS state FROM (${typed_rows})`;
  return `SELECT state::INTEGER, coalesce(code, -1), coalesce(moment, 0), coalesce(uuid, ${NO_ID}),
    coalesce(amount, 0)::DECIMAL(18,6),
    CASE WHEN state >= ${ROW.skipped} THEN ${TEXTS} ELSE ${metadata} END FROM (${judged_rows})`;
}

/** The texts of a row that is validated on its own. */
const TEXTS = `to_json([${["problem", "id", "subscription", "timestamp", "usage", "metadata"]
  .map((name) => `x_${name}::VARCHAR`)
  .join(", ")}])::VARCHAR`;

/**
 * Selects the problem, the five columns of a block for a server, as texts, and their bytes. Of a row with a problem there
 * is only that.
 */
export function textsSql({ from, problem, values }: Pick<FileRows, "from" | "problem" | "values">): string {
  const type = (role: Role) => values.get(role)?.type ?? "VARCHAR";
  const given = [...values].map(([role, { sql }]) => `${sql} AS x_${role}`);
  const given_rows = `SELECT (${problem})::VARCHAR AS x_problem, ${given.join(", ")} FROM ${from}`;
  const cast_rows = `SELECT *, ${castSql(type("timestamp"), "x_timestamp", "BIGINT")} AS x_moment FROM (${given_rows})`;
  const text_rows = `SELECT x_problem, x_id::VARCHAR AS id, x_subscription::VARCHAR AS subscription,
    coalesce((${momentSql(type("timestamp"))})::VARCHAR, x_timestamp::VARCHAR) AS timestamp,
    x_usage::VARCHAR AS usage, x_metadata::VARCHAR AS metadata FROM (${cast_rows})`;
  const texts = ["id", "subscription", "timestamp", "usage", "metadata"];
  const lengths = texts.map((name) => `coalesce(strlen(${name}), 0)`);
  const judged_rows = `SELECT *, coalesce(x_problem, CASE WHEN greatest(${lengths.join(", ")}) > ${LIMITS.usage_block_value_bytes}
      THEN 'has a value of over ${LIMITS.usage_block_value_bytes} bytes' END) AS problem FROM (${text_rows})`;
  return `SELECT problem, ${texts.map((name) => `CASE WHEN problem IS NULL THEN ${name} END AS ${name}`).join(", ")},
    CASE WHEN problem IS NULL THEN ${lengths.join(" + ")} ELSE 0 END::INTEGER AS bytes FROM (${judged_rows})`;
}

/** A cast of a value, null unless it is text or has the type already. */
function castSql(type: string, value: string, wanted: string): string {
  return type === wanted ? value : type === "VARCHAR" ? `TRY_CAST(${value} AS ${wanted})` : `NULL::${wanted}`;
}

/** Unix ms. Text must be whole ms in plain digits, or a date-time, UTC without an offset. */
function momentSql(type: string): string {
  if (WHOLE.test(type)) return "TRY_CAST(x_timestamp AS BIGINT)";
  if (FRACTION.test(type)) {
    return "CASE WHEN x_timestamp = floor(x_timestamp) AND abs(x_timestamp) < 1e15 THEN x_timestamp::BIGINT END";
  }
  if (type !== "VARCHAR") return "NULL::BIGINT";
  return `CASE WHEN x_moment::VARCHAR = x_timestamp THEN x_moment
      WHEN regexp_full_match(x_timestamp, ${DATE_TIME}) THEN epoch_ms(TRY_CAST(x_timestamp AS TIMESTAMP))
      WHEN regexp_full_match(x_timestamp, ${OFFSET_DATE_TIME})
      THEN epoch_ms(TRY_CAST(x_timestamp AS TIMESTAMPTZ)) END`;
}

/** Fractions other than decimals are read from their text: its digits are what is rounded. */
function amountSql(type: string): string {
  if (WHOLE.test(type) || MILLIONTHS.test(type)) return "TRY_CAST(x_usage AS DECIMAL(18,6))";
  return `CASE WHEN regexp_full_match(x_usage::VARCHAR, ${PLAIN_NUMBER})
      THEN TRY_CAST(x_usage::VARCHAR AS DECIMAL(18,6)) END`;
}

function canonicalSql(metadata: string, canonical: string): string {
  return `(strlen(${metadata}) <= ${LIMITS.usage_metadata_bytes} AND ends_with(${metadata}, '}')
    AND regexp_full_match(${metadata}, ${quoteText(canonical)}))`;
}

/** Keys whose order in text is that of JavaScript and of every database, and that need no escape. */
const PLAIN_KEY = /^[A-Za-z_][A-Za-z0-9_.-]*$/;
const JSON_SCALAR = [
  String.raw`"[^"\\\x00-\x1f]*"`,
  "0|-?[1-9][0-9]{0,14}",
  "-?(?:0|[1-9][0-9]{0,8})[.][0-9]{0,5}[1-9]",
  "true|false|null",
].join("|");

/**
 * A regular expression for canonical JSON text of flat objects: any of these keys, each at most once and in order, with
 * scalars as `canonicalJson` writes them. Text that matches and ends with a brace is canonical. Null without such keys,
 * or with too many.
 */
export function canonicalPattern(keys: readonly string[]): string | null {
  const plain = keys.filter((key) => PLAIN_KEY.test(key)).toSorted();
  if (plain.length === 0 || plain.length > LIMITS.usage_metadata_keys) return null;
  const members = plain.map((key) => `(?:"${key.replaceAll(".", "[.]")}":(?:${JSON_SCALAR})(?:,|\\}$))?`);
  return String.raw`\{` + members.join("");
}
