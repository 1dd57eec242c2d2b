import type { Background } from "./background.ts";
import { SHARED_LIMITS } from "./limits.ts";

/**
 * Deletes expired rows in batches, so that no single transaction runs long. `deleteSome` deletes at most `limit` rows
 * and returns how many; it is called until there are fewer, or the process is about to end.
 */
export async function deleteInBatches(
  background: Background,
  deleteSome: (limit: number) => Promise<number>,
): Promise<void> {
  const limit = SHARED_LIMITS.prune_rows;
  while (!background.is_stopping && (await deleteSome(limit)) === limit) await Bun.sleep(0);
}
