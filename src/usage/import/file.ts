/**
 * Reads usage from a CSV, NDJSON or Parquet file with the readers of an engine of its own in memory, block by
 * block, so that a file of any size passes through.
 */
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { LIMITS } from "../limits.ts";
import { blockSql, canonicalPattern, KEYS_TYPE, ROLES, type Role, type RoleValues } from "./columns_sql.ts";
import { engineReason, type FileFormat, type FileHead, readHead } from "./file_head.ts";
import { csvTable, type FileTable, ndjsonTable, parquetTable, quoteName } from "./file_tables.ts";
import { EventBlock } from "../../usage_store/duckdb/append/event_block.ts";
import { Parameters, query } from "../../usage_store/duckdb/engine/sql.ts";

/** Where each part of an event is: a column's name or an expression over columns; by default the wire's name. */
export type RoleSources = Partial<Record<Role, string>>;

/** A line that the reader could make no row of, so that it counts as none. */
export interface BrokenLine {
  line: number;
  reason: string;
  text: string;
}

/** A file opened for reading; its options are known to fit its columns. */
export interface UsageFile {
  /** What the rows' `subscription` is. */
  subscription_field: "external_subscription_id" | "subscription_id";
  /** The share of the file that was read so far, from 0 to 1: it runs ahead of the blocks. */
  readonly share: number;
  /** The rows that were read so far. */
  readonly rows_read: number;
  /**
   * The rows in their order, block by block; each has its subscription's place in `keys`, which are as the
   * `subscription_field` has them. Errors: throws when the file can't be read on.
   */
  readBlocks(keys: readonly string[]): AsyncGenerator<EventBlock>;
  /** The lines that were left out, block by block; known when all rows were read. */
  readBrokenLines(): AsyncGenerator<BrokenLine[]>;
  close(): void;
}

/** Opens a file. Errors: throws an Error of one line when it can't be read or has not what is asked for. */
export async function openUsageFile(
  path: string,
  format: FileFormat,
  sources: RoleSources,
): Promise<UsageFile> {
  const instance = await DuckDBInstance.create(":memory:", {
    threads: String(LIMITS.usage_import_threads),
    // Rows come in the file's order, which numbers them.
    preserve_insertion_order: "true",
    memory_limit: LIMITS.usage_import_memory,
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    allow_community_extensions: "false",
  });
  const connection = await instance.connect();
  const close = () => {
    connection.closeSync();
    instance.closeSync();
  };
  try {
    const head = format === "parquet" ? NO_HEAD : await readHead(path, format);
    const { table, chosen } = await TABLES[format](connection, path, sources, head);
    const from = table.from(rawColumns(table, chosen));
    const values = await valuesOf(connection, table, chosen, from);
    const rows = { from, problem: table.problem ?? "NULL", values };
    const canonical = canonicalPattern(await metadataKeys(connection, from, values));
    let rows_read = 0;
    return {
      subscription_field: chosen.composite ? "subscription_id" : "external_subscription_id",
      get share() {
        return Math.max(connection.progress.percentage, 0) / 100;
      },
      get rows_read() {
        return rows_read;
      },
      async *readBlocks(keys) {
        await numberKeys(connection, keys);
        const sql = blockSql({ ...rows, canonical, has_keys: keys.length > 0 });
        yield* readBlocks(connection, sql, (count) => (rows_read += count));
      },
      readBrokenLines: () => readBrokenLines(connection, table),
      close,
    };
  } catch (error) {
    close();
    throw new Error(`Cannot read ${path}: ${engineReason(error)}`, { cause: error });
  }
}

const NO_HEAD: FileHead = { has_mark: false, first_line: "" };

/** A file's rows, and what of them is taken. */
interface SelectedRows {
  table: FileTable;
  chosen: Chosen;
}

const TABLES: Record<
  FileFormat,
  (connection: DuckDBConnection, path: string, sources: RoleSources, head: FileHead) => Promise<SelectedRows>
> = {
  csv: async (connection, path, sources) => selectRows(await csvTable(connection, path), sources),
  parquet: async (connection, path, sources) => selectRows(await parquetTable(connection, path), sources),
  ndjson: selectNdjsonRows,
};

function selectRows(table: FileTable, sources: RoleSources): SelectedRows {
  return { table, chosen: chooseSources(table, sources) };
}

/** The first lines tell enough where their columns are taken as they stand; expressions need the types of all. */
async function selectNdjsonRows(
  connection: DuckDBConnection,
  path: string,
  sources: RoleSources,
  head: FileHead,
): Promise<SelectedRows> {
  const sample = { rows: LIMITS.usage_import_sample, looked_for: OPTIONAL };
  try {
    const first = selectRows(await ndjsonTable(connection, path, head, sample), sources);
    if (first.chosen.expressions.size === 0) return first;
  } catch {
    // What is missing may come later.
  }
  return selectRows(await ndjsonTable(connection, path, head), sources);
}

/** What each role is read from; a role without a source is left out. */
interface Chosen {
  columns: Map<Role, string>;
  expressions: Map<Role, string>;
  /** The subscription is the wire's subscription_id, `<company_id>:<external id>`. */
  composite: boolean;
}

const DEFAULTS: Record<Role, readonly string[]> = {
  subscription: ["external_subscription_id", "subscription_id"],
  timestamp: ["timestamp"],
  usage: ["usage"],
  id: ["id"],
  metadata: ["metadata"],
};

const OPTIONAL: readonly Role[] = ["id", "metadata"];

/** Columns that are named where one is missing, and how much of each name. */
const SHOWN_COLUMNS = 50;
const SHOWN_LENGTH = 100;

function chooseSources({ columns }: FileTable, sources: RoleSources): Chosen {
  const chosen: Chosen = { columns: new Map(), expressions: new Map(), composite: false };
  const columnNamed = (name: string) =>
    columns.find((column) => column === name) ??
    columns.find((column) => column.toLowerCase() === name.toLowerCase());
  for (const role of ROLES) {
    const source = sources[role];
    if (source !== undefined) {
      const column = columnNamed(source);
      if (column === undefined) chosen.expressions.set(role, source);
      else chosen.columns.set(role, column);
      continue;
    }
    const fallback = DEFAULTS[role].find((name) => columns.includes(name));
    if (fallback !== undefined) {
      chosen.columns.set(role, fallback);
      if (role === "subscription") chosen.composite = fallback === "subscription_id";
    } else if (!OPTIONAL.includes(role)) {
      const column_list = columns
        .slice(0, SHOWN_COLUMNS)
        .map((column) => JSON.stringify(column.slice(0, SHOWN_LENGTH)));
      throw new Error(
        `it has no column ${DEFAULTS[role].join(" or ")}, only ${column_list.join(", ")}; say --${role} with a column or an expression`,
      );
    }
  }
  return chosen;
}

/** The columns that are read as they stand in the file, where the format has them as text. */
function rawColumns(table: FileTable, { columns }: Chosen): Map<string, string> {
  return table.raw ? new Map([...columns].map(([role, column]) => [rawName(role), column])) : new Map();
}

const rawName = (role: Role) => `raw ${role}`;

/** What each role is read from; an expression that fails on a row gives null there. */
async function valuesOf(
  connection: DuckDBConnection,
  table: FileTable,
  { columns, expressions }: Chosen,
  from: string,
): Promise<RoleValues> {
  const values = new Map<Role, { sql: string; type: string }>();
  for (const role of ROLES) {
    const column = columns.get(role);
    const plain = column === undefined ? undefined : quoteName(table.raw ? rawName(role) : column);
    const value = plain ?? expressions.get(role);
    if (value === undefined) {
      values.set(role, ABSENT);
      continue;
    }
    const written = asWritten(role, value, await typeOf(connection, value, from));
    values.set(role, { sql: `TRY(${written})`, type: await typeOf(connection, written, from) });
  }
  return values;
}

const ABSENT = { sql: "NULL::VARCHAR", type: "VARCHAR" };

async function typeOf(connection: DuckDBConnection, value: string, from: string): Promise<string> {
  const [described] = await rowsOf(connection, `DESCRIBE SELECT (${value}) AS value FROM ${from}`);
  return described?.[1] ?? "";
}

/** The keys of the metadata of the file's first rows. */
async function metadataKeys(
  connection: DuckDBConnection,
  from: string,
  values: RoleValues,
): Promise<string[]> {
  const { sql } = values.get("metadata") ?? ABSENT;
  const rows = await rowsOf(
    connection,
    `SELECT DISTINCT unnest(CASE WHEN json_valid(metadata) THEN json_keys(metadata) END)
    FROM (SELECT (${sql})::VARCHAR AS metadata FROM ${from} LIMIT ${LIMITS.usage_import_sample})`,
  );
  return rows.flatMap(([key]) => key ?? []);
}

/** Makes the type by which the keys are numbered, in their order. */
async function numberKeys(connection: DuckDBConnection, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  await connection.run("CREATE TEMP TABLE keys (number INTEGER, key VARCHAR)");
  for (let start = 0; start < keys.length; start += KEYS_AT_ONCE) {
    const batch = keys.slice(start, start + KEYS_AT_ONCE);
    const parameters = new Parameters();
    const numbers = parameters.integers(batch.map((_, i) => start + i));
    const sql = `INSERT INTO keys SELECT unnest(${numbers}), unnest(${parameters.texts(batch)})`;
    await query(connection, sql, parameters);
  }
  await connection.run(`CREATE TYPE ${KEYS_TYPE} AS ENUM (SELECT key FROM keys ORDER BY number)`);
}

/** Keys entered at once. */
const KEYS_AT_ONCE = 1_000;

/** A value of the role as a file would write it: instants in ms, objects as JSON. */
function asWritten(role: Role, value: string, type: string): string {
  if (role === "metadata" && type !== "VARCHAR" && type !== "JSON") return `to_json(${value})`;
  if (role !== "timestamp") return `(${value})`;
  if (type === "TIMESTAMP WITH TIME ZONE") return `epoch_ms(${value})`;
  return /^(DATE$|TIMESTAMP)/.test(type) ? `epoch_ms(CAST((${value}) AS TIMESTAMP))` : `(${value})`;
}

async function* readBlocks(
  connection: DuckDBConnection,
  sql: string,
  countRows: (count: number) => void,
): AsyncGenerator<EventBlock> {
  // Lets the engine read on while a block is stored.
  await connection.run(`SET streaming_buffer_size = '${LIMITS.usage_import_buffer}'`);
  await connection.run("SET enable_progress_bar = true; SET enable_progress_bar_print = false");
  let block = new EventBlock(1, LIMITS.usage_import_block);
  for await (const chunk of await connection.stream(sql)) {
    block.add(chunk);
    countRows(chunk.rowCount);
    if (!block.is_full) continue;
    yield block;
    block = new EventBlock(block.first_row + block.rows, LIMITS.usage_import_block);
  }
  if (block.rows > 0) yield block;
}

async function* readBrokenLines(
  connection: DuckDBConnection,
  { rejects }: FileTable,
): AsyncGenerator<BrokenLine[]> {
  if (!rejects) return;
  // Every scan of the file lists its lines again, and a line may be broken in two ways.
  const sql = `SELECT line::VARCHAR, first(error_message), first(csv_line)
    FROM reject_errors GROUP BY line ORDER BY reject_errors.line`;
  for await (const chunk of await connection.stream(sql)) {
    yield chunk.getRows().map((values) => {
      const [line, reason, text] = values.map(textOrNull);
      return { line: Number(line), reason: reason ?? "can't be read", text: text ?? "" };
    });
  }
}

/** The rows of a statement whose columns are text. */
async function rowsOf(connection: DuckDBConnection, sql: string): Promise<(string | null)[][]> {
  const rows = await (await connection.run(sql)).getRows();
  return rows.map((values) => values.map(textOrNull));
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
