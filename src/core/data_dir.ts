import { accessSync, constants, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "./error_code.ts";
import { ExitError, unmendable } from "./exit_codes.ts";
import { unfinishedRestore } from "./restore_marker.ts";

/** What stays as it is until somebody mends it; a full disk may have room at the next start. */
const LASTING = new Set(["EACCES", "EPERM", "EROFS", "ENOTDIR", "EEXIST", "ENAMETOOLONG"]);

/**
 * Makes the folder of what this process keeps on disk, unless it is there. Errors: throws one line that says what
 * can't be used, by whom, and what to do.
 */
export function openDataDir(data_dir: string): void {
  try {
    mkdirSync(data_dir, { recursive: true, mode: 0o700 });
    accessSync(data_dir, constants.R_OK | constants.W_OK | constants.X_OK);
    for (const name of readdirSync(data_dir)) checkEntry(join(data_dir, name));
    checkComplete(data_dir);
  } catch (error) {
    const message = `Cannot use DATA_DIR ${data_dir}: ${reasonOf(error)}`;
    throw LASTING.has(errorCode(error) ?? "") || error instanceof ExitError
      ? unmendable(message, error)
      : new Error(message, { cause: error });
  }
}

/** Errors: throws while a restore into the folder has not come to its end. */
function checkComplete(data_dir: string): void {
  const point = unfinishedRestore(data_dir);
  if (point === undefined) return;
  throw unmendable(
    `the restore of ${point} into it was cut off, or is under way; delete the folder and restore again`,
  );
}

/** A file that disappears meanwhile is nobody's concern. */
function checkEntry(path: string): void {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

function reasonOf(error: unknown): string {
  const { code, path, message }: NodeJS.ErrnoException =
    error instanceof Error ? error : new Error(String(error));
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  if ((code === "EACCES" || code === "EPERM") && path !== undefined && uid !== undefined) {
    return `user ${uid} may not write ${path}${ownerOf(path)}; give it to that user (chown -R ${uid}:${gid})`;
  }
  if (code === "EROFS" && path !== undefined) return `${path} is on a read-only file system`;
  return message;
}

function ownerOf(path: string): string {
  try {
    return `, which belongs to user ${statSync(path).uid}`;
  } catch {
    return "";
  }
}
