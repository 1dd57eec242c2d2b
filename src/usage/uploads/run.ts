import { existsSync } from "node:fs";
import type { Context } from "../../app/context.ts";
import { call, operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { nextTurn } from "../../core/chunk.ts";
import { AppError } from "../../core/errors.ts";
import { Nothing } from "../../core/schema.ts";
import { instant, iso } from "../../core/time.ts";
import type { FileSource, ImportedUsage, ImportUsage } from "../import/model.ts";
import { listSubscriptionKeys, recognizeImport } from "../import/prepare_import.ts";
import { checkUsageImport, importUsage, stageUsageImport } from "../import/store_block.ts";
import { LIMITS } from "../limits.ts";
import { type MatchedFile, withMatchedFile } from "./file.ts";
import { pathOf, removeFile, removeStrays } from "./folder.ts";
import { columnsOfMatching } from "./matching.ts";
import type { RejectedPlace } from "./model.ts";
import * as queries from "./queries.ts";

type Running = queries.RunningUpload;

/**
 * Carries on with the company's uploads, each for a while, the oldest first. A step's outcome is written down with how far it
 * got, so that one whose process was killed goes on after its last step; rows of a step that was stored and not written
 * down are duplicates then. Decision 0294.
 */
export const carryOnUploads = operation({
  name: "carry_on_uploads",
  permission: "usage:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    for (let after_id = 0; !ctx.background.is_stopping; ) {
      const upload = await queries.findRunning(readTx(ctx), after_id);
      if (!upload) break;
      after_id = upload.id;
      await takeTurn(ctx, upload);
    }
    return {};
  },
});

/** Deletes uploads that are past their time, and files that a killed process left. */
export const pruneUsageUploads = operation({
  name: "prune_usage_uploads",
  permission: "usage:write",
  uses_reserve: true,
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const before = iso(ctx.now.subtract({ hours: 24 * LIMITS.usage_upload_days }));
    for (;;) {
      const old = await queries.findOld(readTx(ctx), before);
      if (!old || ctx.background.is_stopping) break;
      const file = await transaction(ctx, (tx) => queries.deleteUpload(tx, old.id));
      if (file !== undefined) await removeFile(ctx.config.data_dir, file);
    }
    const tx = readTx(ctx);
    await removeStrays(ctx, tx.scope.company_id, new Set(await queries.listFiles(tx)));
    return {};
  },
});

async function takeTurn(ctx: Context, upload: Running): Promise<void> {
  const path = pathOf(ctx.config.data_dir, upload.file);
  try {
    if (existsSync(path)) await readFile(ctx, upload, path);
    else await noteMissing(ctx, upload);
  } catch (error) {
    await noteFailure(ctx, upload.id, error);
  }
}

/** Reads on in a file until its end, or until its turn is over. */
async function readFile(ctx: Context, upload: Running, path: string): Promise<void> {
  const { id, format, file_name, matching, rows } = upload;
  if (matching === null) throw new Error(`Upload ${id} runs without a matching`);
  const { subscription_field = "external_subscription_id" } = matching;
  const keys = await call(ctx, listSubscriptionKeys, { subscription_field });
  let known: Promise<FileSource> | undefined;
  const source = () => (known ??= call(ctx, recognizeImport, { path, file_name }));
  const columns = columnsOfMatching(matching, upload.columns);
  const until_ms = performance.now() + LIMITS.usage_upload_turn_ms;
  await withMatchedFile({ path, format }, { matching, columns, keys, after_row: rows }, async (file) => {
    let at = upload;
    for await (const block of file.readBlocks()) {
      // `now` must keep up with a long run.
      const current = { ...ctx, now: ctx.clock.now() };
      const input = { block, subscription_field, keys, source };
      const outcome = await take(current, input, upload.dry_run);
      const saved = await saveOutcome(current, at, outcome, block.rows);
      // Stopped or deleted meanwhile.
      if (saved === undefined) return;
      at = saved;
      if (ctx.background.is_stopping || performance.now() > until_ms) return;
      await nextTurn();
    }
    await finish({ ...ctx, now: ctx.clock.now() }, at, file);
  });
}

async function take(ctx: Context, input: ImportUsage, dry_run: boolean): Promise<ImportedUsage> {
  if (dry_run) return call(ctx, checkUsageImport, input);
  await call(ctx, stageUsageImport, input);
  return call(ctx, importUsage, input);
}

/** Returns the upload after the step; undefined when it no longer goes on. */
function saveOutcome(
  ctx: Context,
  upload: Running,
  { accepted, duplicates, rejected }: ImportedUsage,
  rows: number,
): Promise<Running | undefined> {
  const places = rejected.map(({ row, reason }) => ({ row, line: null, reason }));
  const counted = {
    rows: upload.rows + rows,
    accepted: upload.accepted + accepted,
    duplicates: upload.duplicates + duplicates,
  };
  return save(ctx, upload, { counted, places });
}

async function save(
  ctx: Context,
  upload: Running,
  { counted, places }: { counted: Partial<Running>; places: readonly RejectedPlace[] },
): Promise<Running | undefined> {
  const named = places.slice(0, LIMITS.usage_upload_rejects - upload.named);
  const step = {
    ...counted,
    rejected: upload.rejected + places.length,
    named: upload.named + named.length,
    attempts: 0,
  };
  return transaction(ctx, async (tx) => {
    const saved = await queries.saveStep(tx, upload, step);
    if (saved === undefined) return undefined;
    await queries.insertRejections(tx, upload.id, named);
    return { ...upload, ...saved, named: step.named, attempts: 0 };
  });
}

async function finish(ctx: Context, upload: Running, file: MatchedFile): Promise<void> {
  const places: RejectedPlace[] = [];
  let broken = 0;
  for await (const lines of file.readBrokenLines()) {
    broken += lines.length;
    const room = LIMITS.usage_upload_rejects - upload.named - places.length;
    for (const { line, reason } of lines.slice(0, room)) places.push({ row: null, line, reason });
    await nextTurn();
  }
  const { dry_run } = upload;
  const ended = await transaction(ctx, async (tx) => {
    const saved = await queries.saveStep(tx, upload, {
      status: "finished",
      finished_at: iso(tx.now),
      rejected: upload.rejected + broken,
      named: upload.named + places.length,
      // What was imported is usage now: its file and what was shown of it are no longer needed.
      ...(dry_run ? {} : { has_file: false, sample: [] }),
    });
    if (saved !== undefined) await queries.insertRejections(tx, upload.id, places);
    return saved;
  });
  if (ended !== undefined && !dry_run) await removeFile(ctx.config.data_dir, upload.file);
}

/** A file that is not here: another instance may have it. */
async function noteMissing(ctx: Context, upload: Running): Promise<void> {
  if (ctx.config.instance_url !== null && silentMs(ctx, upload) < LIMITS.usage_upload_patience_ms) return;
  await fail(
    ctx,
    upload,
    "The file is gone: upload it again. What was stored stays, and is not stored twice",
  );
}

const silentMs = (ctx: Context, { updated_at }: Pick<Running, "updated_at">): number =>
  ctx.now.epochMilliseconds - instant(updated_at).epochMilliseconds;

async function fail(ctx: Context, upload: Running, error: string): Promise<void> {
  await transaction(ctx, (tx) =>
    queries.saveStep(tx, upload, { status: "failed", error, finished_at: iso(tx.now) }),
  );
}

/** Tries the step again, unless it failed too often or always would. */
async function noteFailure(ctx: Context, id: number, error: unknown): Promise<void> {
  ctx.log.warn({ err: error, request_id: ctx.request_id, upload_id: id }, "an upload's step failed");
  const upload = await queries.findUpload(readTx(ctx), id);
  if (upload?.status !== "running") return;
  const kind = error instanceof AppError ? error.kind : null;
  // A store that is busy or full is waited for, and other instances are told in time that the file is here.
  if (kind === "unavailable" || kind === "rate_limited") {
    if (2 * silentMs(ctx, upload) > LIMITS.usage_upload_patience_ms)
      await transaction(ctx, (tx) => queries.saveStep(tx, upload, {}));
    return;
  }
  const message = error instanceof AppError ? error.message : "Internal error";
  if (kind !== null || upload.attempts + 1 >= LIMITS.usage_upload_attempts) await fail(ctx, upload, message);
  else await transaction(ctx, (tx) => queries.saveStep(tx, upload, { attempts: upload.attempts + 1 }));
}
