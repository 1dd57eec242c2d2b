import { chmodSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** Names of the service's files in its data directory, with those that exist only while it runs. */
const OURS = /^(meterhouse\.sqlite|usage\.duckdb|jwt_secret|documents|control|import_blocks)/;

/**
 * Removes other users' permissions from the files of the data directory: those of a version that left them readable,
 * and those that were copied there. The directory itself is left as the operator made it. Returns the names of files
 * that belong to another user.
 */
export function makePrivate(data_dir: string): string[] {
  return readdirSync(data_dir)
    .filter((name) => OURS.test(name))
    .filter((name) => !isMadePrivate(join(data_dir, name)));
}

function isMadePrivate(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found || (found.mode & 0o077) === 0) return true;
  try {
    chmodSync(path, found.isDirectory() ? 0o700 : 0o600);
    return true;
  } catch {
    return false;
  }
}
