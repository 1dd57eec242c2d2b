import { Type } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { csv } from "../../core/csv.ts";
import { createDownloadStream, type Download } from "../../core/download.ts";
import { AppError, notFound, orNotFound } from "../../core/errors.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { pagedList } from "../../core/pagination.ts";
import { ById, Nothing, paged } from "../../core/schema.ts";
import type { Tx } from "../../store/store.ts";
import { LIMITS } from "../limits.ts";
import { readSample } from "./file.ts";
import { pathOf, removeFile } from "./folder.ts";
import { columnsOfMatching } from "./matching.ts";
import { ListUploads, ReceivedFile, RunUpload, UsageUpload, UsageUploadDetail } from "./model.ts";
import * as queries from "./queries.ts";

/** Keeps a received file to be imported, with its columns and first rows. Errors: malformed, conflict when too many are kept. */
export const createUsageUpload = operation({
  name: "create_usage_upload",
  permission: "usage:write",
  input: ReceivedFile,
  output: UsageUploadDetail,
  async run(ctx, { file, ...received }) {
    await assertRoom(readTx(ctx));
    const { format } = received;
    const sampled = await readSample({ path: pathOf(ctx.config.data_dir, file), format });
    return transaction(ctx, async (tx) => {
      await assertRoom(tx);
      return queries.insertUpload(tx, {
        ...received,
        ...sampled,
        ...NO_RUN,
        file,
        has_file: true,
        matching: null,
        status: "uploaded",
        dry_run: false,
        run: 0,
        requested_by: userOf(ctx),
      });
    });
  },
});

/** A run from the beginning. */
const NO_RUN = {
  rows: 0,
  accepted: 0,
  duplicates: 0,
  rejected: 0,
  named: 0,
  attempts: 0,
  error: null,
  finished_at: null,
};

const userOf = ({ actor }: Context) => (actor.kind === "user" ? actor.user_id : null);

async function assertRoom(tx: Parameters<typeof queries.countUploads>[0]): Promise<void> {
  if ((await queries.countUploads(tx)) >= LIMITS.usage_uploads_kept)
    throw new AppError(
      "conflict",
      `Cannot keep another file: there are ${LIMITS.usage_uploads_kept}; delete one`,
    );
}

/** Lists uploads without their columns and rows, newest first. */
export const listUsageUploads = operation({
  name: "list_usage_uploads",
  permission: "usage:write",
  input: ListUploads,
  output: paged(UsageUpload),
  run: (ctx, { page, limit, ...order }) =>
    pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, (slice) =>
      queries.listUploads(readTx(ctx), order, slice),
    ),
});

/** Finds one upload, as far as its run got. Errors: not_found. */
export const getUsageUpload = operation({
  name: "get_usage_upload",
  permission: "usage:write",
  input: ById,
  output: UsageUploadDetail,
  run: async (ctx, { id }) => orNotFound(await queries.findUpload(readTx(ctx), id), "Upload", id),
});

/**
 * Begins to import a file, or to judge its rows, in the background. One that was stopped goes on where it was, if it is
 * run in the same way. Errors: not_found, invalid for a matching that the file does not fit, conflict while it runs and
 * once the file is gone. Decision 0294.
 */
export const runUsageUpload = operation({
  name: "run_usage_upload",
  permission: "usage:write",
  input: RunUpload,
  output: UsageUploadDetail,
  run: (ctx, { id, matching, dry_run = false }) =>
    transaction(ctx, async (tx) => {
      const found = orNotFound(await queries.findUpload(tx, id), "Upload", id);
      if (!found.has_file) throw new AppError("conflict", `Cannot run upload ${id}: its file is gone`);
      columnsOfMatching(matching, found.columns);
      const goes_on =
        (found.status === "stopped" || found.status === "failed") &&
        found.dry_run === dry_run &&
        Bun.deepEquals(found.matching, matching);
      if (!goes_on) await queries.deleteRejections(tx, id);
      const changed = await queries.changeIdle(tx, id, {
        ...(goes_on ? { attempts: 0, error: null, finished_at: null } : NO_RUN),
        status: "running",
        matching,
        dry_run,
        run: found.run + 1,
        requested_by: userOf(ctx),
      });
      if (changed === undefined) throw new AppError("conflict", `Cannot run upload ${id}: it is running`);
      return changed;
    }),
});

/** Stops an upload's run: what was stored stays, and it can go on. Errors: not_found, conflict unless it runs. */
export const stopUsageUpload = operation({
  name: "stop_usage_upload",
  permission: "usage:write",
  uses_reserve: true,
  input: ById,
  output: UsageUploadDetail,
  run: (ctx, { id }) =>
    transaction(ctx, async (tx) => {
      const stopped = await queries.stopUpload(tx, id);
      if (stopped !== undefined) return stopped;
      const { status } = orNotFound(await queries.findUpload(tx, id), "Upload", id);
      throw new AppError("conflict", `Cannot stop upload ${id}: it is ${status}`);
    }),
});

/** Streams the rejected rows of an upload as CSV. Errors: not_found. */
export const exportRejectedRows = operation({
  name: "export_rejected_rows",
  permission: "usage:write",
  audited: true,
  target: "usage_upload",
  input: ById,
  output: Type.Unsafe<Download>(Type.Any()),
  async run(ctx, { id }) {
    orNotFound(await queries.findUpload(readTx(ctx), id), "Upload", id);
    const encoder = new TextEncoder();
    const body = await createDownloadStream(
      async (write, gone) => {
        await write(encoder.encode(csv([["row", "line", "reason"]])));
        for (let after_id = 0; !gone.aborted; ) {
          const found = await queries.findRejections(readTx(ctx), id, after_id);
          if (found === undefined) return;
          const rows = found.places.map(({ row, line, reason }) => [
            String(row ?? ""),
            String(line ?? ""),
            reason,
          ]);
          await write(encoder.encode(csv(rows)));
          after_id = found.id;
        }
      },
      {
        idle_ms: SHARED_LIMITS.download_idle_ms,
        bytes_s: SHARED_LIMITS.download_bytes_s,
        onError: (error) =>
          ctx.log.info({ err: error, request_id: ctx.request_id, id }, "rejected rows broke off"),
      },
    );
    return { media_type: "text/csv; charset=utf-8; header=present", filename: `rejected-${id}.csv`, body };
  },
});

/** Deletes an upload with its file; one that runs stops, and what it stored stays. Errors: not_found. */
export const deleteUsageUpload = operation({
  name: "delete_usage_upload",
  permission: "usage:write",
  uses_reserve: true,
  input: ById,
  output: Nothing,
  async run(ctx, { id }) {
    const file = await transaction(ctx, async (tx) => remove(tx, id));
    await removeFile(ctx.config.data_dir, file);
    return {};
  },
});

async function remove(tx: Tx, id: number): Promise<string> {
  const file = await queries.deleteUpload(tx, id);
  if (file === undefined) throw notFound("Upload", id);
  return file;
}
