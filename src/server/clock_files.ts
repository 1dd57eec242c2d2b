import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../core/error_code.ts";

// Two files of DATA_DIR, each with one instant: what the clock showed when an operator accepted it, and the time up to
// which records are known to be ahead of the clock.

const ACCEPTANCE = "clock.accept";
const ACCEPTED = "clock.accepted";

/** Leaves an operator's word for the running server, or the next one. */
export function leaveAcceptance(data_dir: string, wall: Temporal.Instant): void {
  write(join(data_dir, ACCEPTANCE), wall);
}

/** Takes an operator's word that was left: what the clock showed then. */
export function takeAcceptance(data_dir: string): Temporal.Instant | null {
  const path = join(data_dir, ACCEPTANCE);
  const wall = read(path);
  if (wall !== null) rmSync(path, { force: true });
  return wall;
}

export const readAccepted = (data_dir: string): Temporal.Instant | null => read(join(data_dir, ACCEPTED));

export function writeAccepted(data_dir: string, until: Temporal.Instant): void {
  write(join(data_dir, ACCEPTED), until);
}

function write(path: string, at: Temporal.Instant): void {
  writeFileSync(`${path}.new`, at.toString(), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

function read(path: string): Temporal.Instant | null {
  try {
    return Temporal.Instant.from(readFileSync(path, "utf8").trim());
  } catch (error) {
    if (errorCode(error) === "ENOENT" || error instanceof RangeError) return null;
    throw error;
  }
}
