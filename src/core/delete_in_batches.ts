import type { Background } from "./background.ts";
import { SHARED_LIMITS } from "./limits.ts";

/**
 * Forgets rows some at a time, so that nothing waits long for one transaction: `deleteSome` deletes at most
 * `limit` and tells how many. It goes on until there are fewer, or the process is about to end.
 */
export async function deleteInBatches(
  background: Background,
  deleteSome: (limit: number) => Promise<number>,
): Promise<void> {
  const limit = SHARED_LIMITS.prune_rows;
  while (!background.is_stopping && (await deleteSome(limit)) === limit) await Bun.sleep(0);
}
