import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { AppError } from "../../core/errors.ts";
import { KeyedMutex } from "../../core/keyed_mutex.ts";
import type { EventBlock } from "../../usage_store/duckdb/append/event_block.ts";
import { quoteText } from "../../usage_store/duckdb/engine/sql.ts";
import { blocksOf, metadataKeys } from "../import/blocks.ts";
import { textRows } from "../import/column_sources.ts";
import { blockSql, canonicalPattern } from "../import/columns_sql.ts";
import { type BrokenLine, numberKeys, readBrokenLines } from "../import/file.ts";
import { engineReason, readHead } from "../import/file_head.ts";
import { csvTable, type FileTable, ndjsonTable, quoteName } from "../import/file_tables.ts";
import { LIMITS } from "../limits.ts";
import { matchedValues, rawName, usageProblem } from "./matching_sql.ts";
import type { Matching, UploadFormat } from "./model.ts";

/** The beginning of a file: its columns, and the texts of its first rows. */
export interface FileSample {
  columns: string[];
  sample: (string | null)[][];
}

/** Where a file lies, and what it is. */
interface FilePlace {
  path: string;
  format: UploadFormat;
}

/**
 * Uses an engine of its own, which opens no other file, loads no extension and takes no more memory than it was given. All
 * SQL is ours.
 */
async function withEngine<T>(
  path: string,
  use: (connection: DuckDBConnection) => Promise<T>,
  limit_ms?: number,
): Promise<T> {
  const instance = await DuckDBInstance.create(":memory:", {
    threads: "1",
    // Row numbers are those of the file.
    preserve_insertion_order: "true",
    memory_limit: LIMITS.usage_upload_memory,
    max_temp_directory_size: "0B",
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    allow_community_extensions: "false",
  });
  const connection = await instance.connect();
  const timer = limit_ms === undefined ? undefined : setTimeout(() => connection.interrupt(), limit_ms);
  try {
    await connection.run(`SET streaming_buffer_size = '${LIMITS.usage_import_buffer}'`);
    await connection.run(`SET allowed_paths = [${quoteText(path)}]`);
    await connection.run("SET enable_external_access = false");
    await connection.run("SET lock_configuration = true");
    return await use(connection);
  } finally {
    clearTimeout(timer);
    connection.closeSync();
    instance.closeSync();
  }
}

/** The file as a table; `looked_for`: columns that it has, whether or not its first rows do. */
async function tableOf(
  connection: DuckDBConnection,
  { path, format }: FilePlace,
  looked_for: readonly string[],
): Promise<FileTable> {
  const head = await readHead(path, format);
  if (format === "csv") return csvTable(connection, path);
  return ndjsonTable(connection, path, head, { rows: LIMITS.usage_import_sample, looked_for });
}

const rawColumns = (columns: readonly string[]) =>
  new Map(columns.map((column) => [rawName(column), column]));

/** Reads the columns and first rows of a file. Errors: malformed, saying why it can't be read. */
export function readSample(place: FilePlace): Promise<FileSample> {
  const read = () => withEngine(place.path, (connection) => sampleOf(connection, place), SAMPLE_MS);
  return explained(place, sampling.run("sample", read));
}

/** One file is sampled at a time: its engine's memory is the bound of all. */
const sampling = new KeyedMutex<"sample">();
const SAMPLE_MS = 30_000;

async function sampleOf(connection: DuckDBConnection, place: FilePlace): Promise<FileSample> {
  const table = await tableOf(connection, place, []);
  const { columns } = table;
  assertColumns(columns);
  const texts = columns.map(
    (column) => `left(${quoteName(rawName(column))}::VARCHAR, ${LIMITS.usage_upload_sample_length})`,
  );
  const sample = await textRows(
    connection,
    `SELECT ${texts.join(", ")} FROM ${table.from(rawColumns(columns))} LIMIT ${LIMITS.usage_upload_sample}`,
  );
  if (sample.length === 0) throw new Error("it has no rows");
  return { columns, sample };
}

/** Says in one line why a file can't be read, without where it lies. Errors: malformed, and what is said already. */
async function explained<T>({ path, format }: FilePlace, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof AppError) throw error;
    const reason = engineReason(error).replaceAll(path, "the file");
    const name = format === "csv" ? "CSV" : "NDJSON";
    throw new AppError("malformed", `Cannot read the file as ${name}: ${reason}`, { cause: error });
  }
}

function assertColumns(columns: readonly string[]): void {
  if (columns.length === 0) throw new Error("it has no columns");
  if (columns.length > LIMITS.usage_upload_columns)
    throw new Error(`it has ${columns.length} columns, and may have ${LIMITS.usage_upload_columns}`);
  const long = columns.find((column) => column.length > LIMITS.usage_upload_column_length);
  if (long !== undefined)
    throw new Error(
      `a column's name has ${long.length} characters, and may have ${LIMITS.usage_upload_column_length}`,
    );
}

/** A file that is read by a matching. */
export interface MatchedFile {
  /** The rows that are left, in order, block by block; each has its subscription's index in the keys. */
  readBlocks(): AsyncGenerator<EventBlock>;
  /** The lines that are no rows; complete once all rows were read. */
  readBrokenLines(): AsyncGenerator<BrokenLine[]>;
}

/** Opens a file for reading by a matching, from the row after `after_row`. Errors: throws when it can't be read. */
export function withMatchedFile<T>(
  place: FilePlace,
  {
    matching,
    columns,
    keys,
    after_row,
  }: {
    matching: Matching;
    /** Those that the matching names. */
    columns: readonly string[];
    keys: readonly string[];
    after_row: number;
  },
  use: (file: MatchedFile) => Promise<T>,
): Promise<T> {
  return withEngine(place.path, async (connection) => {
    const prepared = await explained(place, prepare());
    return use({
      readBlocks: async function* () {
        const blocks = blocksOf(connection, prepared.sql, {
          size: LIMITS.usage_block_slice,
          first_row: after_row + 1,
        });
        for (;;) {
          const next = await explained(place, blocks.next());
          if (next.done === true) return;
          yield next.value;
        }
      },
      readBrokenLines: () => readBrokenLines(connection, prepared.table),
    });

    async function prepare() {
      const table = await tableOf(connection, place, columns);
      const values = matchedValues(matching);
      const all_rows = table.from(rawColumns(columns));
      const canonical = canonicalPattern(await metadataKeys(connection, all_rows, values));
      await numberKeys(connection, keys);
      const from = after_row === 0 ? all_rows : `(FROM ${all_rows} OFFSET ${after_row})`;
      const problem = `coalesce(${table.problem ?? "NULL"}, ${usageProblem(matching)})`;
      return { table, sql: blockSql({ from, problem, values, canonical, has_keys: keys.length > 0 }) };
    }
  });
}
