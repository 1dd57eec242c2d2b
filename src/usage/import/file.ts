/**
 * Reads usage from a CSV, NDJSON or Parquet file with an in-memory DuckDB of its own, block by block, so that files may
 * have any size.
 */
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { chunks } from "../../core/chunk.ts";
import { LIMITS } from "../limits.ts";
import {
  type ChosenSources,
  chooseSources,
  OPTIONAL_ROLES,
  rawColumns,
  type RoleSources,
  textOrNull,
  valuesOf,
} from "./column_sources.ts";
import { blockSql, canonicalPattern, KEYS_TYPE } from "./columns_sql.ts";
import { engineReason, type FileFormat, type FileHead, readHead } from "./file_head.ts";
import { blocksOf, metadataKeys, showProgress } from "./blocks.ts";
import { csvTable, type FileTable, ndjsonTable, parquetTable } from "./file_tables.ts";
import { type OutgoingBlock, outgoingBlocks } from "./outgoing_blocks.ts";
import type { ImportSource } from "./model.ts";
import type { EventBlock } from "../../usage_store/duckdb/append/event_block.ts";
import { Parameters, query } from "../../usage_store/duckdb/engine/sql.ts";

/** A line that could not be parsed as a row, and is not counted as one. */
export interface BrokenLine {
  line: number;
  reason: string;
  text: string;
}

/** A file opened for reading; its sources are known to fit its columns. */
export interface UsageFile {
  /** The field that the rows' `subscription` holds. */
  subscription_field: "external_subscription_id" | "subscription_id";
  /** The share of the file that is read, from 0 to 1; ahead of the blocks. */
  readonly share: number;
  /** The number of rows read so far. */
  readonly rows_read: number;
  /**
   * Reads the rows in order, block by block; each has its subscription's index in `keys`, which are values of the
   * `subscription_field`. Errors: throws when the rest of the file can't be read.
   */
  readBlocks(keys: readonly string[]): AsyncGenerator<EventBlock>;
  /** Reads the rows in order into blocks for a server, which `folder` holds one after the other. Errors: as `readBlocks`. */
  readOutgoing(folder: string, source: () => Promise<ImportSource>): AsyncGenerator<OutgoingBlock>;
  /** Reads the broken lines, block by block; complete once all rows were read. */
  readBrokenLines(): AsyncGenerator<BrokenLine[]>;
  close(): void;
}

/** Opens a file. Errors: throws an Error of one line when it can't be read or lacks a column. */
export async function openUsageFile(
  path: string,
  format: FileFormat,
  sources: RoleSources,
): Promise<UsageFile> {
  const instance = await DuckDBInstance.create(":memory:", {
    threads: String(LIMITS.usage_import_threads),
    // Row numbers are those of the file.
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
      readOutgoing: (folder, source) =>
        outgoingBlocks(connection, rows, {
          connect: () => instance.connect(),
          folder,
          source,
          field: chosen.composite ? "subscription_id" : "external_subscription_id",
          countRows: (count) => (rows_read += count),
        }),
      readBrokenLines: () => readBrokenLines(connection, table),
      close,
    };
  } catch (error) {
    close();
    throw new Error(`Cannot read ${path}: ${engineReason(error)}`, { cause: error });
  }
}

const NO_HEAD: FileHead = { has_mark: false, first_line: "" };

/** A file's rows, and the sources of their roles. */
interface SelectedRows {
  table: FileTable;
  chosen: ChosenSources;
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

/** Samples the first lines, which suffices for plain columns; expressions need the types of all lines. */
async function selectNdjsonRows(
  connection: DuckDBConnection,
  path: string,
  sources: RoleSources,
  head: FileHead,
): Promise<SelectedRows> {
  const sample = { rows: LIMITS.usage_import_sample, looked_for: OPTIONAL_ROLES };
  try {
    const first = selectRows(await ndjsonTable(connection, path, head, sample), sources);
    if (first.chosen.expressions.size === 0) return first;
  } catch {
    // A missing column may come later in the file.
  }
  return selectRows(await ndjsonTable(connection, path, head), sources);
}

/** Creates the enum type that numbers the keys, in their order. */
export async function numberKeys(connection: DuckDBConnection, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  await connection.run("CREATE TEMP TABLE keys (number INTEGER, key VARCHAR)");
  let first = 0;
  for (const batch of chunks(keys, KEYS_AT_ONCE)) {
    const parameters = new Parameters();
    const numbers = parameters.integers(batch.map((_, i) => first + i));
    const sql = `INSERT INTO keys SELECT unnest(${numbers}), unnest(${parameters.texts(batch)})`;
    await query(connection, sql, parameters);
    first += batch.length;
  }
  await connection.run(`CREATE TYPE ${KEYS_TYPE} AS ENUM (SELECT key FROM keys ORDER BY number)`);
}

/** Keys inserted by one statement. */
const KEYS_AT_ONCE = 1_000;

async function* readBlocks(
  connection: DuckDBConnection,
  sql: string,
  countRows: (count: number) => void,
): AsyncGenerator<EventBlock> {
  await showProgress(connection);
  yield* blocksOf(connection, sql, { size: LIMITS.usage_import_block, countRows });
}

/** The lines that the engine took for no rows so far, block by block. */
export async function* readBrokenLines(
  connection: DuckDBConnection,
  { rejects }: FileTable,
): AsyncGenerator<BrokenLine[]> {
  if (!rejects) return;
  // Every scan of the file lists its broken lines again, and a line may be broken in two ways.
  const sql = `SELECT line::VARCHAR, first(error_message), first(csv_line)
    FROM reject_errors GROUP BY line ORDER BY reject_errors.line`;
  for await (const chunk of await connection.stream(sql)) {
    yield chunk.getRows().map((values) => {
      const [line, reason, text] = values.map(textOrNull);
      return { line: Number(line), reason: reason ?? "can't be read", text: text ?? "" };
    });
  }
}
