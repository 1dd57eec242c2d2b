import { fstatSync, readdirSync, statSync } from "node:fs";
import { realpath, statfs } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { AppError } from "../../../core/errors.ts";
import { unmendable } from "../../../core/exit_codes.ts";
import { admitProgram } from "../../../core/min_program.ts";
import { upgradeLayout } from "./layouts.ts";
import { logProblem } from "./log_check.ts";
import { insertMeta } from "./meta.ts";
import { CREATE_META, CREATE_TABLES, MIN_PROGRAM, SCHEMA_VERSION } from "./schema.ts";
import { asText, query } from "./sql.ts";

/** Bounds of the engine's resources. */
export interface EngineLimits {
  /** Threads a query may use beside the caller's. */
  threads: number;
  /** In DuckDB's spelling: `1GB`. Beyond it queries spill to disk beside the file. */
  memory_limit: string;
}

/** An open file with its tables. */
export interface Database {
  instance: DuckDBInstance;
  /** The secret of the fingerprints, 16 bytes. */
  fingerprint_key: Uint8Array;
  /** Closes the file without writing. Every connection must be closed before. */
  close(): void;
  /** Closes the file and opens it again, which replays its log. Errors: as `openDatabase`; it may be called again. */
  reopen(): Promise<Database>;
}

// The engine's file lock is the process's, so a second opening in this process would pass it and destroy
// the file.
const openPaths = new Set<string>();

/**
 * Opens the file, created when missing; its folder must exist.
 * Errors: unavailable when a process has it open already; throws when a newer version wrote it.
 */
export async function openDatabase(path: string, limits: EngineLimits): Promise<Database> {
  const real_path = join(await realpath(dirname(path)), basename(path));
  if (openPaths.has(real_path)) throw heldError(path);
  openPaths.add(real_path);
  try {
    return await open(path, real_path, limits);
  } catch (error) {
    openPaths.delete(real_path);
    throw error;
  }
}

/** `known_key`: for a file with its tables; then nothing is written, for which the disk may lack space. */
async function open(
  path: string,
  real_path: string,
  limits: EngineLimits,
  known_key?: Uint8Array,
): Promise<Database> {
  await untilReleased(real_path);
  const problem = logProblem(`${path}.wal`);
  if (problem !== null) throw new Error(problem);
  const instance = await create(path, limits);
  if (known_key === undefined && (await isUpgraded(instance, path))) {
    instance.closeSync();
    return open(path, real_path, limits);
  }
  let is_open = true;
  const release = (): void => {
    if (is_open) instance.closeSync();
    is_open = false;
  };
  try {
    await setUp(instance);
    const fingerprint_key = known_key ?? (await prepareTables(instance));
    return {
      instance,
      fingerprint_key,
      close() {
        release();
        openPaths.delete(real_path);
      },
      reopen() {
        release();
        return open(path, real_path, limits, fingerprint_key);
      },
    };
  } catch (error) {
    release();
    throw error;
  }
}

/** Whether the file was of an earlier layout and is written anew. Closes the instance when it fails. */
async function isUpgraded(instance: DuckDBInstance, path: string): Promise<boolean> {
  try {
    await setUp(instance);
    return await upgradeLayout(instance, path);
  } catch (error) {
    instance.closeSync();
    throw error;
  }
}

/** How long a closed instance may take to release the file. */
const RELEASE_MS = 2_000;

/**
 * Waits until this process has closed the file: a result that was not read to its end keeps an instance alive, and the
 * file lock does not exclude a second one of the same process. Errors: throws when it stays open.
 */
async function untilReleased(path: string): Promise<void> {
  const give_up_ms = performance.now() + RELEASE_MS;
  while (isOpenHere(path)) {
    if (performance.now() > give_up_ms)
      throw new Error(`Cannot open ${path}: this process still has it open`);
    Bun.gc(true);
    await Bun.sleep(10);
  }
}

function isOpenHere(path: string): boolean {
  const file = statSync(path, { throwIfNoEntry: false });
  if (file === undefined) return false;
  return readdirSync("/dev/fd").some((name) => {
    try {
      const { dev, ino } = fstatSync(Number(name));
      return dev === file.dev && ino === file.ino;
    } catch {
      // That of the listing itself is closed by now.
      return false;
    }
  });
}

async function create(path: string, limits: EngineLimits): Promise<DuckDBInstance> {
  try {
    return await DuckDBInstance.create(path, {
      threads: String(limits.threads),
      memory_limit: limits.memory_limit,
      max_temp_directory_size: `${await spillBytes(path)}B`,
      // Only what is built in: the service must run without the internet.
      autoinstall_known_extensions: "false",
      autoload_known_extensions: "false",
      allow_community_extensions: "false",
      // No result depends on the order of rows, and preserving it costs memory.
      preserve_insertion_order: "false",
      // Checkpoints are made by the compaction, when no commit waits for them.
      checkpoint_threshold: "1TB",
      // Reading a page's rows again by their numbers costs more than it saves: 28 ms for 3.
      late_materialization_max_rows: "0",
      // Looks for parts that a statement has twice, which none has here: a tenth of the planning of a small one.
      disabled_optimizers: "common_subplan",
    });
  } catch (error) {
    if (String(error).includes("Could not set lock on file")) throw heldError(path, error);
    throw error;
  }
}

/** The bytes that queries may spill: half of the free disk, as commits and checkpoints need the rest. */
async function spillBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(dirname(path));
  return Math.max(Math.floor((bavail * bsize) / 2), 1_000_000);
}

function heldError(path: string, cause?: unknown): AppError {
  return new AppError(
    "unavailable",
    `Cannot open the usage store ${path}: it is open already, and only one process may write the usage store`,
    { cause },
  );
}

/** Disables the checkpoint at closing: a failed engine must write nothing. */
async function setUp(instance: DuckDBInstance): Promise<void> {
  const connection = await instance.connect();
  try {
    await connection.run("PRAGMA disable_checkpoint_on_shutdown");
  } finally {
    connection.closeSync();
  }
}

async function prepareTables(instance: DuckDBInstance): Promise<Uint8Array> {
  const connection = await instance.connect();
  try {
    await connection.run("BEGIN");
    await connection.run(CREATE_META);
    const meta = await readMeta(connection);
    admitProgram(meta.get("min_program"), "Cannot open the usage store: ");
    const version = meta.get("schema_version");
    if (version === undefined) await insertMeta(connection, "schema_version", String(SCHEMA_VERSION));
    else if (Number(version) !== SCHEMA_VERSION) {
      throw unmendable(
        `Cannot open the usage store: its layout is version ${version}, this program knows ${SCHEMA_VERSION}`,
      );
    }
    await connection.run(CREATE_TABLES);
    if (!meta.has("min_program")) await insertMeta(connection, "min_program", MIN_PROGRAM);
    let key = meta.get("fingerprint_key");
    if (key === undefined) {
      key = crypto.getRandomValues(new Uint8Array(16)).toHex();
      await insertMeta(connection, "fingerprint_key", key);
    }
    if (!meta.has("store_id")) await insertMeta(connection, "store_id", crypto.randomUUID());
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
