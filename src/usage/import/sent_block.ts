import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Context } from "../../app/context.ts";
import { scopeOf } from "../../core/access.ts";
import { AppError } from "../../core/errors.ts";
import type { Deps } from "../../app/deps.ts";
import { withBody } from "../../http/authentication.ts";
import { openBody } from "../../http/body_stream.ts";
import { mediaTypeOf } from "../../http/body.ts";
import { LIMITS } from "../limits.ts";
import type { SentBlock } from "./model.ts";

// Blocks of imports on their way in: on disk, since an engine reads files.

const FOLDER = "import_blocks";
const PARQUET = "application/vnd.apache.parquet";

/** How many are here, by company. */
const here = new Map<number, number>();

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
  if (Number(request.headers.get("content-length") ?? 0) > LIMITS.usage_block_bytes) throw tooLarge();
  const { company_id } = scopeOf(actor);
  deps.guards.disk.check();
  const leave = enter(company_id);
  const folder = join(config.data_dir, FOLDER);
  const path = join(folder, `${randomUUID()}.parquet`);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const received = await withBody({ deps, request, ctx }, () => receive(request, path));
    return await use(received.ctx, { path, ...received.body });
  } finally {
    await rm(path, { force: true });
    leave();
  }
}

/** Counts a block of the company until the function returned is called. A second one leaves room for other companies. */
function enter(company_id: number): () => void {
  const retry = { retry_after_s: 1 };
  const own = here.get(company_id) ?? 0;
  const all = [...here.values()].reduce((sum, count) => sum + count, 0);
  if (own >= LIMITS.usage_blocks_company || (own > 0 && all >= LIMITS.usage_blocks / 2))
    throw new AppError("rate_limited", "Your company sends too many blocks at once: try again", retry);
  if (all >= LIMITS.usage_blocks)
    throw new AppError("unavailable", "Too many blocks at once: try again", retry);
  here.set(company_id, own + 1);
  return () => {
    const left = (here.get(company_id) ?? 1) - 1;
    if (left === 0) here.delete(company_id);
    else here.set(company_id, left);
  };
}

async function receive(request: Request, path: string): Promise<Omit<SentBlock, "path">> {
  const body = openBody(request);
  const hasher = new Bun.CryptoHasher("sha256");
  const deadline = performance.now() + LIMITS.usage_block_ms;
  let late: AppError | undefined;
  let [bytes, bytes_before] = [0, 0];
  const timer = setInterval(() => {
    const has_come = bytes - bytes_before >= LIMITS.usage_block_pace_bytes;
    bytes_before = bytes;
    if (has_come && performance.now() < deadline) return;
    late = tooSlow();
    body.cancel();
  }, LIMITS.usage_block_pace_ms);
  const file = await open(path, "wx", 0o600);
  try {
    for (let piece = await body.read(); piece !== undefined; piece = await body.read()) {
      bytes += piece.byteLength;
      if (bytes > LIMITS.usage_block_bytes) throw tooLarge();
      hasher.update(piece);
      await file.write(piece);
    }
    if (late) throw late;
    return { digest: hasher.digest("hex"), bytes };
  } catch (error) {
    body.cancel();
    throw late ?? error;
  } finally {
    clearInterval(timer);
    await file.close();
  }
}

function tooSlow(): AppError {
  const { usage_block_ms, usage_block_pace_ms, usage_block_pace_bytes } = LIMITS;
  return new AppError(
    "timed_out",
    `The block arrives too slowly: ${usage_block_pace_bytes} bytes must come in ${usage_block_pace_ms / 1_000} s, and all in ${usage_block_ms / 1_000} s`,
  );
}

function tooLarge(): AppError {
  return new AppError(
    "too_large",
    `The block is over ${LIMITS.usage_block_bytes} bytes: send its rows in several`,
  );
}
