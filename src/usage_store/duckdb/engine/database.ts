import { fstatSync, readdirSync, statSync } from "node:fs";
import { realpath, statfs } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { AppError } from "../../../core/errors.ts";
import { unmendable } from "../../../core/exit_codes.ts";
import { admitProgram } from "../../../core/min_program.ts";
import { upgradeLayout } from "./layouts.ts";
import { logProblem } from "./log_check.ts";
import { insertMeta, type Meta, readMeta } from "./meta.ts";
import { CREATE_META, CREATE_TABLES, MIN_PROGRAM, SCHEMA_VERSION, TABLES_DIGEST } from "./schema.ts";

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
  /** What the file said of itself when it was first opened. */
  meta: Meta;
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

/** `known`: for a file with its tables; then nothing is written, for which the disk may lack space. */
async function open(
  path: string,
  real_path: string,
  limits: EngineLimits,
  known?: Pick<Database, "fingerprint_key" | "meta">,
): Promise<Database> {
  await untilReleased(real_path);
  const problem = logProblem(`${path}.wal`);
  if (problem !== null) throw new Error(problem);
  const instance = await create(path, limits);
  let is_open = true;
  const release = (): void => {
    if (is_open) instance.closeSync();
    is_open = false;
  };
  try {
    const look = await setUp(instance);
    if (known === undefined && (await upgradeLayout(instance, path, look))) {
      release();
      return await open(path, real_path, limits);
    }
    const { fingerprint_key, meta } = known ?? (await prepareTables(instance, look));
    return {
      instance,
      fingerprint_key,
      meta,
      close() {
        release();
        openPaths.delete(real_path);
      },
      reopen() {
        release();
        return open(path, real_path, limits, { fingerprint_key, meta });
      },
    };
  } catch (error) {
    release();
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

/** Disables the checkpoint at closing: a failed engine must write nothing. Returns what the file says of itself. */
async function setUp(instance: DuckDBInstance): Promise<Meta> {
  const connection = await instance.connect();
  try {
    await connection.run("PRAGMA disable_checkpoint_on_shutdown");
    return await readMeta(connection);
  } finally {
    connection.closeSync();
  }
}

/** Makes what the file lacks; writes nothing where it says that it lacks nothing. */
async function prepareTables(
  instance: DuckDBInstance,
  look: Meta,
): Promise<Pick<Database, "fingerprint_key" | "meta">> {
  const valueOf = (name: string) => look.get(name)?.[0];
  admitProgram(valueOf("min_program"), "Cannot open the usage store: ");
  const version = valueOf("schema_version");
  if (version !== undefined && Number(version) !== SCHEMA_VERSION) {
    throw unmendable(
      `Cannot open the usage store: its layout is version ${version}, this program knows ${SCHEMA_VERSION}`,
    );
  }
  const key = valueOf("fingerprint_key") ?? crypto.getRandomValues(new Uint8Array(16)).toHex();
  const wanted = {
    schema_version: String(SCHEMA_VERSION),
    min_program: MIN_PROGRAM,
    fingerprint_key: key,
    store_id: valueOf("store_id") ?? crypto.randomUUID(),
    tables: TABLES_DIGEST,
  };
  const has_tables = valueOf("tables") === TABLES_DIGEST;
  const missing = Object.entries(wanted).filter(
    ([name]) => !look.has(name) || (name === "tables" && !has_tables),
  );
  if (missing.length > 0) await writeTables(instance, Object.fromEntries(missing));
  const meta = new Map([...look, ...missing.map(([name, value]): [string, string[]] => [name, [value]])]);
  return { fingerprint_key: Uint8Array.fromHex(key), meta };
}

async function writeTables(instance: DuckDBInstance, missing: Record<string, string>): Promise<void> {
  const connection = await instance.connect();
  try {
    await connection.run(
      `BEGIN; ${CREATE_META} ${CREATE_TABLES} DELETE FROM usage_meta WHERE name = 'tables'`,
    );
    await insertMeta(connection, missing);
    await connection.run("COMMIT");
  } finally {
    connection.closeSync();
  }
}
