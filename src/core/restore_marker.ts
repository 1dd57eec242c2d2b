import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The file that a restore leaves in its folder until all is there; its text is what is restored. */
export const RESTORE_MARKER = "RESTORE_NOT_COMPLETE";

/** What was being restored into a folder when it was cut off, or is right now; undefined where nothing is. */
export function unfinishedRestore(data_dir: string): string | undefined {
  const path = join(data_dir, RESTORE_MARKER);
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}
