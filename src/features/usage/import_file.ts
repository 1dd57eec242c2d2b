/**
 * Reads usage from a CSV, NDJSON or Parquet file with the readers of an engine of its own in memory, block by
 * block, so that a file of any size passes through.
 */
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { LIMITS } from "../../core/config.ts";
import { csvTable, type FileTable, ndjsonTable, parquetTable, quoteName } from "./import_tables.ts";
import type { FileRow } from "./model.ts";

export const FILE_FORMATS = ["csv", "ndjson", "parquet"] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

/** What an event is made of. */
export const ROLES = ["subscription", "timestamp", "usage", "id", "metadata"] as const;
export type Role = (typeof ROLES)[number];

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
  /** How many rows there are: reads the whole file. */
  countRows(): Promise<number>;
  /** The rows in their order, some 2,000 at a time. Errors: throws when the file can't be read on. */
  readBlocks(): AsyncGenerator<FileRow[]>;
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
    // One thread: rows come in the file's order, which numbers them.
    threads: "1",
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
    const table = await TABLES[format](connection, path);
    const chosen = chooseSources(table, sources);
    const from = table.from(rawColumns(table, chosen));
    const select = `SELECT ${await selectList(connection, table, chosen, from)} FROM ${from}`;
    return {
      subscription_field: chosen.composite ? "subscription_id" : "external_subscription_id",
      countRows: async () =>
        Number((await rowsOf(connection, `SELECT count(*)::VARCHAR FROM ${from}`))[0]?.[0]),
      readBlocks: () => readBlocks(connection, select),
      readBrokenLines: () => readBrokenLines(connection, table),
      close,
    };
  } catch (error) {
    close();
    throw new Error(`Cannot read ${path}: ${oneLine(error)}`, { cause: error });
  }
}

const TABLES: Record<FileFormat, (connection: DuckDBConnection, path: string) => Promise<FileTable>> = {
  csv: csvTable,
  ndjson: ndjsonTable,
  parquet: parquetTable,
};

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

function chooseSources({ columns }: FileTable, sources: RoleSources): Chosen {
  const chosen: Chosen = { columns: new Map(), expressions: new Map(), composite: false };
  const columnNamed = (name: string) =>
    columns.find((column) => column === name) ??
    columns.find((column) => column.toLowerCase() === name.toLowerCase());
  for (const role of ROLES) {
    const given = sources[role];
    if (given !== undefined) {
      const column = columnNamed(given);
      if (column === undefined) chosen.expressions.set(role, given);
      else chosen.columns.set(role, column);
      continue;
    }
    const fallback = DEFAULTS[role].find((name) => columns.includes(name));
    if (fallback !== undefined) {
      chosen.columns.set(role, fallback);
      if (role === "subscription") chosen.composite = fallback === "subscription_id";
    } else if (!OPTIONAL.includes(role)) {
      const known = columns.map((column) => JSON.stringify(column)).join(", ");
      throw new Error(
        `it has no column ${DEFAULTS[role].join(" or ")}, only ${known}; say --${role} with a column or an expression`,
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

/** The columns of FileRow, row aside, as text; an expression that fails on a row gives null there. */
async function selectList(
  connection: DuckDBConnection,
  table: FileTable,
  { columns, expressions }: Chosen,
  from: string,
): Promise<string> {
  const selected = [`${table.problem ?? "NULL"}::VARCHAR`];
  for (const role of ["id", "subscription", "timestamp", "usage", "metadata"] as const) {
    const column = columns.get(role);
    const plain = column === undefined ? undefined : quoteName(table.raw ? rawName(role) : column);
    const value = plain ?? expressions.get(role);
    if (value === undefined) {
      selected.push("NULL::VARCHAR");
      continue;
    }
    const [described] = await rowsOf(connection, `DESCRIBE SELECT (${value}) AS value FROM ${from}`);
    selected.push(`TRY(CAST(${asWritten(role, value, described?.[1] ?? "")} AS VARCHAR))`);
  }
  return selected.join(", ");
}

/** A value of the role as a file would write it: instants in ms, objects as JSON. */
function asWritten(role: Role, value: string, type: string): string {
  if (role === "metadata" && type !== "VARCHAR" && type !== "JSON") return `to_json(${value})`;
  if (role !== "timestamp") return `(${value})`;
  if (type === "TIMESTAMP WITH TIME ZONE") return `epoch_ms(${value})`;
  return /^(DATE$|TIMESTAMP)/.test(type) ? `epoch_ms(CAST((${value}) AS TIMESTAMP))` : `(${value})`;
}

async function* readBlocks(connection: DuckDBConnection, select: string): AsyncGenerator<FileRow[]> {
  const result = await connection.stream(select);
  let row = 0;
  for await (const chunk of result) {
    yield chunk.getRows().map((values): FileRow => {
      const [problem, id, subscription, timestamp, usage, metadata] = values.map(textOrNull);
      return {
        row: ++row,
        problem: problem ?? null,
        id: id ?? null,
        subscription: subscription ?? null,
        timestamp: timestamp ?? null,
        usage: usage ?? null,
        metadata: metadata ?? null,
      };
    });
  }
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

/** The engine's message without the drawing of where in the statement it is. */
function oneLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const lines = message.split("\n").map((line) => line.trim());
  return lines.find((line) => line !== "") ?? "unknown reason";
}
