import { realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { AppError } from "../../../../core/errors.ts";
import { CREATE_TABLES, SCHEMA_VERSION } from "./schema.ts";
import { asText, Parameters, query } from "./sql.ts";

/** What the engine may take of the machine. */
export interface EngineLimits {
  /** Threads a query may use beside the caller's. */
  threads: number;
  /** In DuckDB's spelling: `1GB`. Beyond it queries spill to disk beside the file. */
  memory_limit: string;
}

/** An open file with its tables made. */
export interface Database {
  instance: DuckDBInstance;
  /** The secret of the fingerprints, 16 bytes. */
  fingerprint_key: Uint8Array;
  /** Releases the file. Every connection must be closed before. */
  close(): void;
}

// The engine's file lock is the process's, so a second opening in this process would pass it and destroy
// the file.
const openPaths = new Set<string>();

/**
 * Opens the file, which is made when missing (its folder must exist).
 * Errors: unavailable when a process has it open already; throws when a newer version wrote it.
 */
export async function openDatabase(path: string, limits: EngineLimits): Promise<Database> {
  const real_path = join(await realpath(dirname(path)), basename(path));
  if (openPaths.has(real_path)) throw heldError(path);
  openPaths.add(real_path);
  let instance: DuckDBInstance | undefined;
  try {
    instance = await create(path, limits);
    const opened = instance;
    const fingerprint_key = await prepareTables(opened);
    const close = (): void => {
      opened.closeSync();
      openPaths.delete(real_path);
    };
    return { instance, fingerprint_key, close };
  } catch (error) {
    instance?.closeSync();
    openPaths.delete(real_path);
    throw error;
  }
}

async function create(path: string, limits: EngineLimits): Promise<DuckDBInstance> {
  try {
    return await DuckDBInstance.create(path, {
      threads: String(limits.threads),
      memory_limit: limits.memory_limit,
      // Only what is built in: the service must run without the internet.
      autoinstall_known_extensions: "false",
      autoload_known_extensions: "false",
      allow_community_extensions: "false",
      // No answer depends on the rows' order, and keeping it costs memory.
      preserve_insertion_order: "false",
      // The compaction makes checkpoints, at moments when no commit waits for them.
      checkpoint_threshold: "1TB",
      // Reading a page's rows a second time, by their numbers, costs more than it spares: 28 ms for 3.
      late_materialization_max_rows: "0",
    });
  } catch (error) {
    if (String(error).includes("Could not set lock on file")) throw heldError(path, error);
    throw error;
  }
}

function heldError(path: string, cause?: unknown): AppError {
  return new AppError(
    "unavailable",
    `Cannot open the usage store ${path}: it is open already, and only one process may write the usage store`,
    { cause },
  );
}

async function prepareTables(instance: DuckDBInstance): Promise<Uint8Array> {
  const connection = await instance.connect();
  try {
    await connection.run("BEGIN");
    await connection.run(CREATE_TABLES);
    const meta = await readMeta(connection);
    const version = meta.get("schema_version");
    if (version === undefined) await insertMeta(connection, "schema_version", String(SCHEMA_VERSION));
    else if (Number(version) !== SCHEMA_VERSION) {
      throw new Error(
        `Cannot open the usage store: its layout is version ${version}, this program knows ${SCHEMA_VERSION}`,
      );
    }
    let key = meta.get("fingerprint_key");
    if (key === undefined) {
      key = crypto.getRandomValues(new Uint8Array(16)).toHex();
      await insertMeta(connection, "fingerprint_key", key);
    }
    await connection.run("COMMIT");
    return Uint8Array.fromHex(key);
  } finally {
    connection.closeSync();
  }
}

async function readMeta(connection: DuckDBConnection): Promise<Map<string, string>> {
  const rows = await query(connection, "SELECT name, value FROM usage_meta");
  return new Map(rows.map(([name, value]) => [asText(name), asText(value)]));
}

async function insertMeta(connection: DuckDBConnection, name: string, value: string): Promise<void> {
  const parameters = new Parameters();
  const sql = `INSERT INTO usage_meta VALUES (${parameters.text(name)}, ${parameters.text(value)})`;
  await query(connection, sql, parameters);
}
