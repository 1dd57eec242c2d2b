import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { wrongWords } from "../../core/exit_codes.ts";
import { RESTORE_MARKER, unfinishedRestore } from "../../core/restore_marker.ts";
import { syncPath } from "../../core/sync_path.ts";
import { isEmptyPostgres } from "../../store/empty.postgres.ts";

/** Where a point is restored to: a data directory, and a PostgreSQL database if its rows go there. */
export interface Place {
  readonly data_dir: string;
  readonly database_url: string | null;
}

const IS_POSTGRES = /^postgres(ql)?:\/\//;

/** Reads the values of `--to`: one folder, and at most one postgres:// address. Errors: wrong words. */
export function readPlace(values: readonly string[]): Place {
  const urls = values.filter((value) => IS_POSTGRES.test(value));
  const folders = values.filter((value) => !IS_POSTGRES.test(value));
  const [data_dir] = folders;
  if (folders.length !== 1 || data_dir === undefined || urls.length > 1 || /^\w+:\/\//.test(data_dir)) {
    throw wrongWords("--to takes one folder, and beside it a postgres:// address where records go there");
  }
  return { data_dir: resolve(data_dir), database_url: urls[0] ?? null };
}

/**
 * Takes an empty place for a restore: until `completePlace` the folder is marked as incomplete, and no server starts on
 * it. Errors: throws where anything is there.
 */
export async function claimPlace({ data_dir, database_url }: Place, point: string): Promise<void> {
  mkdirSync(data_dir, { recursive: true, mode: 0o700 });
  const before = unfinishedRestore(data_dir);
  if (before !== undefined) {
    throw new Error(
      `Cannot restore into ${data_dir}: a restore of ${before} was cut off there, or is under way; delete the folder and begin again`,
    );
  }
  const [name] = readdirSync(data_dir).filter((entry) => entry !== "lost+found");
  if (name !== undefined) {
    throw new Error(`Cannot restore into ${data_dir}: it is not empty, there is ${name}`);
  }
  if (database_url !== null && !(await isEmptyPostgres(database_url))) {
    const { host, pathname } = new URL(database_url);
    throw new Error(`Cannot restore into PostgreSQL at ${host}${pathname}: the database is not empty`);
  }
  writeFileSync(join(data_dir, RESTORE_MARKER), point, { mode: 0o600, flag: "wx" });
}

/** Takes the mark away once all is on disk. */
export async function completePlace({ data_dir }: Place): Promise<void> {
  await syncPath(data_dir);
  rmSync(join(data_dir, RESTORE_MARKER));
  await syncPath(data_dir);
}
