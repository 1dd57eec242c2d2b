import { pointerPart } from "../../core/errors.ts";
import type { DuckDBConnection } from "@duckdb/node-api";
import { LIMITS } from "../limits.ts";
import type { FileHead } from "./file_head.ts";
import { quoteText } from "../../usage_store/duckdb/engine/sql.ts";

/** A file's rows as a table in SQL. */
export interface FileTable {
  columns: string[];
  /**
   * The FROM clause: the columns by name, with the types that their values suggest, and under the keys of `raw` columns
   * as the text in the file.
   */
  from(raw: ReadonlyMap<string, string>): string;
  /** Whether columns can be read as text: typed files have values only. */
  raw: boolean;
  /** SQL of the reason why a line is not a row, where the format can have such lines. */
  problem?: string;
  /** Whether the engine lists broken lines apart. */
  rejects: boolean;
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

const sniffedQuote = (sniffed = "(empty)") => quoteText(sniffed === "(empty)" ? '"' : sniffed);

/** The longest line with which the dialect is still detected. Lines over 2 MB are rejected as rows. */
const SNIFFED_LINE_BYTES = 4_000_000;

/** A CSV file: dialect and header are detected from its beginning. */
export async function csvTable(connection: DuckDBConnection, path: string): Promise<FileTable> {
  const file = quoteText(path);
  const found = await connection.run(
    `SELECT Delimiter, Quote, Escape, SkipRows::VARCHAR, HasHeader::VARCHAR,
      DateFormat IS NULL AND TimestampFormat IS NULL, unnest(Columns, recursive := true)
    FROM sniff_csv(${file}, ignore_errors = true, max_line_size = ${SNIFFED_LINE_BYTES})`,
  );
  const rows = await found.getRows();
  const [delimiter, quote, escape, skip, header] = (rows[0] ?? []).map(String);
  const columns = rows.map(([, , , , , iso_times, name, type]) => ({
    name: String(name),
    // Other orders of day and month are left to the user's strptime.
    type: /^(DATE|TIME)/.test(String(type)) && iso_times !== true ? "VARCHAR" : String(type),
  }));
  const names = columns.map(({ name }) => `${quoteText(name)}: 'VARCHAR'`).join(", ");
  // Read as text, so that a value of another type than its column's affects only its own row.
  const source = `read_csv(${file}, auto_detect = false, delim = ${quoteText(delimiter ?? ",")},
    quote = ${sniffedQuote(quote)}, escape = ${sniffedQuote(escape)}, skip = ${Number(skip ?? 0)},
    header = ${header === "true"}, columns = {${names}}, store_rejects = true, rejects_limit = 0)`;
  return {
    columns: columns.map(({ name }) => name),
    raw: true,
    rejects: true,
    from: (raw) => {
      const typed = columns.map(
        ({ name, type }) => `TRY_CAST(file.${quoteName(name)} AS ${type}) AS ${quoteName(name)}`,
      );
      const texts = [...raw].map(([as, name]) => `file.${quoteName(name)} AS ${quoteName(as)}`);
      return `(SELECT ${[...typed, ...texts].join(", ")} FROM ${source} AS file)`;
    },
  };
}

/**
 * A file of one JSON object a line: its columns are the keys of all objects, or of the first `sample` ones and those of
 * `looked_for`.
 */
export async function ndjsonTable(
  connection: DuckDBConnection,
  path: string,
  head: FileHead,
  sample?: { rows: number; looked_for: readonly string[] },
): Promise<FileTable> {
  const source = ndjsonLines(path, head);
  const from = sample === undefined ? source : `(FROM ${source} LIMIT ${sample.rows})`;
  const found = await connection.run(
    `SELECT key, string_agg(DISTINCT json_type(json, '/' || replace(replace(key, '~', '~0'), '/', '~1')), ' ')
    FROM (SELECT json, unnest(json_keys(json)) AS key FROM ${from} WHERE json_type(json) = 'OBJECT')
    GROUP BY key ORDER BY key`,
  );
  const columns = (await found.getRows()).map(([name, types]) => ({
    name: String(name),
    type: ndjsonType(String(types ?? "").split(" ")),
  }));
  const usual_keys = await usualKeys(connection, from);
  return {
    columns: [...new Set([...columns.map(({ name }) => name), ...(sample?.looked_for ?? [])])],
    raw: true,
    rejects: false,
    problem: quoteName("raw problem"),
    from: (raw) => {
      const typed = columns.map(({ name, type }) => {
        const read = type === "JSON" ? "json_extract" : "json_extract_string";
        const value = lastMember(name, `${read}(file.json, ${pointer(name)})`, `${read}(file.json, '$.*')`);
        return `TRY_CAST(${value} AS ${type}) AS ${quoteName(name)}`;
      });
      // All at once: each reading of the line costs as much as the first.
      const paths = [...raw.values()].map(pointer).join(", ");
      const read = raw.size === 0 ? "" : `, json_extract_string(json, [${paths}]) AS texts`;
      const texts = [...raw].map(([as, name], i) => {
        const value = lastMember(name, `file.texts[${i + 1}]`, "json_extract_string(file.json, '$.*')");
        return `${value} AS ${quoteName(as)}`;
      });
      // By the text: parsing it for this would cost as much as all other columns.
      const problem = `CASE WHEN file.is_usual OR starts_with(ltrim(file.json::VARCHAR, e' \\t\\r\\n'), '{') THEN NULL
        ELSE 'is not a JSON object' END AS ${quoteName("raw problem")}`;
      const lines = `SELECT json, json_keys(json) AS keys${read} FROM ${source}`;
      const judged = `SELECT *, ${usual_keys} AS is_usual FROM (${lines})`;
      const file = `SELECT *, CASE WHEN is_usual THEN NULL ELSE list_reverse(keys) END AS last_keys FROM (${judged})`;
      return `(SELECT ${[problem, ...typed, ...texts].join(", ")} FROM (${file}) AS file)`;
    },
  };
}

/**
 * SQL of whether a line's keys are those of most lines, each of them once: its values need no search for repeated names,
 * which takes as long as all the rest.
 */
async function usualKeys(connection: DuckDBConnection, from: string): Promise<string> {
  const found = await connection.run(
    `SELECT unnest(keys) FROM (
      SELECT keys FROM (SELECT json_keys(json) AS keys FROM ${from} LIMIT ${LIMITS.usage_import_sample})
      WHERE len(keys) > 0 AND len(list_distinct(keys)) = len(keys)
      GROUP BY keys ORDER BY count(*) DESC, keys LIMIT 1)`,
  );
  const keys = (await found.getRows()).map(([key]) => quoteText(String(key)));
  return keys.length === 0 ? "false" : `keys = [${keys.join(", ")}]`;
}

/** The lines of the file as JSON; null for an invalid one. */
function ndjsonLines(path: string, { has_mark, first_line }: FileHead): string {
  const lines = `read_ndjson_objects(${quoteText(path)}, ignore_errors = true)`;
  if (!has_mark) return lines;
  // The engine takes the mark for a part of the first line, which is then invalid.
  const others = `(SELECT json FROM ${lines} OFFSET 1)`;
  if (first_line.trim() === "") return others;
  return `(SELECT TRY_CAST(${quoteText(first_line)} AS JSON) AS json UNION ALL ${others})`;
}

/**
 * SQL of a member's value: `first` is that of the first member of the name, `all` are those of all members in order. Of
 * repeated names the last counts, as over HTTP.
 */
function lastMember(name: string, first: string, all: string): string {
  const key = quoteText(name);
  const from_end = `list_position(file.last_keys, ${key})`;
  const is_one = `list_position(file.keys, ${key}) + ${from_end} = len(file.keys) + 1`;
  return `CASE WHEN file.is_usual THEN ${first}
    WHEN NOT (${is_one}) THEN (${all})[len(file.keys) - ${from_end} + 1] ELSE ${first} END`;
}

/** The SQL type of a key whose values have these JSON types. */
function ndjsonType(types: readonly string[]): string {
  const kinds = new Set(types.filter((type) => type !== "NULL" && type !== ""));
  const all = (...allowed: string[]) => [...kinds].every((kind) => allowed.includes(kind));
  if (all("BIGINT", "UBIGINT")) return "BIGINT";
  if (all("BIGINT", "UBIGINT", "DOUBLE")) return "DOUBLE";
  if (all("BOOLEAN")) return "BOOLEAN";
  return all("OBJECT", "ARRAY") ? "JSON" : "VARCHAR";
}

function pointer(key: string): string {
  return quoteText(`/${pointerPart(key)}`);
}

/** A Parquet file, which declares its columns and their types. */
export async function parquetTable(connection: DuckDBConnection, path: string): Promise<FileTable> {
  const source = `read_parquet(${quoteText(path)})`;
  const found = await connection.run(`DESCRIBE SELECT * FROM ${source}`);
  const columns = (await found.getRows()).map(([name]) => String(name));
  return { columns, raw: false, rejects: false, from: () => source };
}
