import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Context } from "../../app/context.ts";
import { scopeOf } from "../../core/access.ts";
import type { Deps } from "../../app/deps.ts";
import { withBody } from "../../http/authentication.ts";
import { mediaTypeOf } from "../../http/body.ts";
import { LIMITS } from "../limits.ts";
import { type ArrivalBounds, Arrivals, assertFits, receiveFile } from "./arrivals.ts";
import type { SentBlock } from "./model.ts";

// Blocks of imports on their way in: on disk, since an engine reads files.

const FOLDER = "import_blocks";
const PARQUET = "application/vnd.apache.parquet";

const arrivals = new Arrivals(LIMITS.usage_blocks, LIMITS.usage_blocks_company, "blocks");
const bounds = (): ArrivalBounds => ({
  what: "block",
  bytes: LIMITS.usage_block_bytes,
  ms: LIMITS.usage_block_ms,
  pace_bytes: LIMITS.usage_block_pace_bytes,
  advice: ": send its rows in several",
});

/** Removes what a killed process left. */
export function removeSentBlocks(data_dir: string): void {
  rmSync(join(data_dir, FOLDER), { recursive: true, force: true });
}

/**
 * Takes a request's body to disk, uses it and removes it. Errors: unsupported_media_type, too_large, timed_out, malformed
 * when it is cut off, rate_limited and unavailable when too many are here.
 */
export async function withSentBlock<T>(
  { deps, request, ctx: { actor, config }, ctx }: { deps: Deps; request: Request; ctx: Context },
  use: (ctx: Context, block: SentBlock) => Promise<T>,
): Promise<T> {
  mediaTypeOf(request, [PARQUET]);
  assertFits(request, bounds());
  const { company_id } = scopeOf(actor);
  deps.guards.disk.check();
  const leave = arrivals.enter(company_id);
  const folder = join(config.data_dir, FOLDER);
  const path = join(folder, `${randomUUID()}.parquet`);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const received = await withBody({ deps, request, ctx }, () => receiveFile(request, path, bounds()));
    return await use(received.ctx, { path, ...received.body });
  } finally {
    await rm(path, { force: true });
    leave();
  }
}
