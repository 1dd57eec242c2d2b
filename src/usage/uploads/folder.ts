import { randomUUID } from "node:crypto";
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Context } from "../../app/context.ts";
import type { Deps } from "../../app/deps.ts";
import { scopeOf } from "../../core/access.ts";
import { AppError, invalid } from "../../core/errors.ts";
import { syncPath } from "../../core/sync_path.ts";
import { withBody } from "../../http/authentication.ts";
import { mediaTypeOf } from "../../http/body.ts";
import { type ArrivalBounds, Arrivals, assertFits, receiveFile } from "../import/arrivals.ts";
import { LIMITS } from "../limits.ts";
import type { ReceivedFile, UploadFormat } from "./model.ts";

// Where uploaded files lie: <data directory>/usage_uploads/<company>-<uuid>, with .part while they arrive. Decision 0294.

const FOLDER = "usage_uploads";
const PART = ".part";

export const MEDIA_TYPES = ["text/csv", "application/x-ndjson"] as const;
const FORMATS: Record<(typeof MEDIA_TYPES)[number], UploadFormat> = {
  "text/csv": "csv",
  "application/x-ndjson": "ndjson",
};

const arrivals = new Arrivals(LIMITS.usage_uploads, LIMITS.usage_uploads_company, "files");
const BOUNDS: ArrivalBounds = {
  what: "file",
  bytes: LIMITS.usage_upload_bytes,
  ms: LIMITS.usage_upload_ms,
  pace_bytes: LIMITS.usage_upload_pace_bytes,
  advice: ": send it in parts, or import it at the command line",
};

export const pathOf = (data_dir: string, file: string) => join(data_dir, FOLDER, file);

export async function removeFile(data_dir: string, file: string): Promise<void> {
  await rm(pathOf(data_dir, file), { force: true });
}

/**
 * Takes a request's file to disk and uses it; it stays unless that fails. Errors: unsupported_media_type, too_large, timed_out,
 * malformed when it is cut off, invalid when it is empty, rate_limited and unavailable when too much is here.
 */
export async function withReceivedFile<T>(
  { deps, request, ctx, file_name }: { deps: Deps; request: Request; ctx: Context; file_name: string },
  use: (ctx: Context, file: ReceivedFile) => Promise<T>,
): Promise<T> {
  const format = FORMATS[mediaTypeOf(request, MEDIA_TYPES)];
  assertFits(request, BOUNDS);
  const { company_id } = scopeOf(ctx.actor);
  deps.guards.disk.check();
  const leave = arrivals.enter(company_id);
  const folder = join(ctx.config.data_dir, FOLDER);
  const file = `${company_id}-${randomUUID()}`;
  const path = join(folder, file);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await makeRoom(folder, ctx.clock.now());
    let lines = 0;
    let last = NEWLINE;
    const count = (piece: Uint8Array) => {
      for (let at = piece.indexOf(NEWLINE); at >= 0; at = piece.indexOf(NEWLINE, at + 1)) lines++;
      last = piece.at(-1) ?? last;
    };
    const receive = () => receiveFile(request, `${path}${PART}`, BOUNDS, count);
    const received = await withBody({ deps, request, ctx }, receive);
    if (received.body.bytes === 0) throw invalid("", "must not be empty");
    await rename(`${path}${PART}`, path);
    await syncPath(path);
    await syncPath(folder);
    if (last !== NEWLINE) lines++;
    return await use(received.ctx, { file, file_name, format, lines, ...received.body });
  } catch (error) {
    await Promise.all([rm(path, { force: true }), rm(`${path}${PART}`, { force: true })]);
    throw error;
  } finally {
    leave();
  }
}

const NEWLINE = 10;

/**
 * Removes a company's files that no upload has: what a process that was killed had received of one, or all of it. One that
 * still arrives is younger than an upload may take.
 */
export async function removeStrays(
  { config: { data_dir }, now }: Pick<Context, "config" | "now">,
  company_id: number,
  known: ReadonlySet<string>,
): Promise<void> {
  const folder = join(data_dir, FOLDER);
  // There is none before the first upload.
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    if (!name.startsWith(`${company_id}-`) || known.has(name)) continue;
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && now.epochMilliseconds - found.mtimeMs > LIMITS.usage_upload_ms)
      await rm(path, { force: true });
  }
}

/** Removes files that are past their time, or of killed processes. Errors: unavailable when the others take too much. */
async function makeRoom(folder: string, now: Temporal.Instant): Promise<void> {
  const names = await readdir(folder);
  let bytes = 0;
  for (const name of names) {
    const path = join(folder, name);
    // Another request may have removed it.
    const found = await stat(path).catch(() => undefined);
    if (found === undefined) continue;
    const age_ms = now.epochMilliseconds - found.mtimeMs;
    const kept_ms = name.endsWith(PART) ? LIMITS.usage_upload_ms : (LIMITS.usage_upload_days + 1) * DAY_MS;
    if (age_ms > kept_ms) await rm(path, { force: true });
    else bytes += found.size;
  }
  if (bytes + LIMITS.usage_upload_bytes > LIMITS.usage_uploads_bytes)
    throw new AppError("unavailable", "Too many files wait to be imported: try again later", {
      retry_after_s: 600,
    });
}

const DAY_MS = 86_400_000;
