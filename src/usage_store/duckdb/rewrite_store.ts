import { type EngineLimits, openDatabase } from "./engine/database.ts";
import { PRESENT_LAYOUT, rewriteFile } from "./engine/rewrite.ts";

/**
 * Writes a closed store's file anew, so that nothing is left of metadata that was erased. Returns how many events it
 * has. Errors: unavailable when it is open, in this process or another; throws when the disk is full.
 */
export async function rewriteStore(path: string, limits: EngineLimits): Promise<number> {
  const database = await openDatabase(path, limits);
  try {
    return await rewriteFile(database.instance, path, PRESENT_LAYOUT);
  } finally {
    database.close();
  }
}
