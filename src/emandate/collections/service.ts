import { Type } from "@sinclair/typebox";
import { call, operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { scopeOf } from "../../core/access.ts";
import { type Download, createDownloadStream } from "../../core/download.ts";
import { AppError, orNotFound } from "../../core/errors.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { pagedList } from "../../core/pagination.ts";
import { ById, Nothing, paged, strict } from "../../core/schema.ts";
import type { ReadTx } from "../../store/store.ts";
import { checkNotHeld, findHold } from "../holds/queries.ts";
import { findConfig } from "../merchant_config/queries.ts";
import { dueAt } from "../payments/rules.ts";
import { CollectionResults } from "../results/model.ts";
import { applyResultFile, debitTarget } from "../results/result_files.ts";
import { COLLECTION_HEADER, collectionLines } from "../scheme/collection_file.ts";
import { LIMITS } from "../limits.ts";
import { dayAt } from "../working_days.ts";
import { listRunLines } from "./file_queries.ts";
import { CollectionRun, ListCollectionRuns, RunCollection } from "./model.ts";
import * as queries from "./queries.ts";
import { isAnythingDue, lockRuns, startRun } from "./start_run.ts";

/**
 * Collects what is due by the end of a day in Kuala Lumpur, today without one: due mandates, debits by hand, further
 * attempts. Returns after a few seconds at the latest, with status `running` while the run goes on.
 * Errors: conflict while one runs or debits are held; invalid for a day ahead outside of the sandbox. Decision 0096.
 */
export const runCollection = operation({
  name: "run_collection",
  permission: "emandate:write",
  waits_for_clock: true,
  target: "collection_run",
  input: RunCollection,
  output: CollectionRun,
  run: (ctx, { date }) => startRun(ctx, date),
});

/** Collects what is due today, unless nothing is, a run is under way or debits are held. See docs/emandate.md#collection. */
export const collectDue = operation({
  name: "collect_due",
  permission: "emandate:write",
  waits_for_clock: true,
  target: "collection_run",
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    if (await findHold(readTx(ctx))) return {};
    const { auto_collect } = await findConfig(readTx(ctx));
    const before = dueAt(dayAt(ctx.now).add({ days: 1 }));
    if (!(await isAnythingDue(readTx(ctx), before, auto_collect))) return {};
    try {
      await startRun(ctx);
    } catch (error) {
      if (!(error instanceof AppError) || error.kind !== "conflict") throw error;
    }
    return {};
  },
});

/** Marks the company's runs as interrupted whose process has died. */
export const interruptCollections = operation({
  name: "interrupt_collections",
  permission: "emandate:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const lock = await lockRuns(ctx.store, scopeOf(ctx.actor));
    if (lock === null) return {};
    try {
      await transaction(ctx, queries.interruptRuns);
    } finally {
      await lock.release();
    }
    return {};
  },
});

/** Ends the company's run whose instance has died, and collects what it left. Decision 0322. */
export const takeOverCollections = operation({
  name: "take_over_collections",
  permission: "emandate:write",
  waits_for_clock: true,
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    await call(ctx, interruptCollections, {});
    return call(ctx, collectDue, {});
  },
});

/** Lists collection runs, newest first. */
export const listCollectionRuns = operation({
  name: "list_collection_runs",
  permission: "emandate:read",
  input: ListCollectionRuns,
  output: paged(CollectionRun),
  run: (ctx, { page, limit, ...order }) =>
    pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, (slice) =>
      queries.listRuns(readTx(ctx), order, slice),
    ),
});

/** Finds one collection run. Errors: not_found. */
export const getCollectionRun = operation({
  name: "get_collection_run",
  permission: "emandate:read",
  input: ById,
  output: CollectionRun,
  run: (ctx, { id }) => findRun(readTx(ctx), id),
});

/**
 * Streams the debits of a run as a bank's file: CSV, the same bytes on every download.
 * Errors: not_found; conflict while the run goes on or debits are held, and where it was interrupted. Decision 0140.
 */
export const getCollectionFile = operation({
  name: "get_collection_file",
  permission: "emandate:read",
  audited: true,
  target: "collection",
  input: ById,
  output: Type.Unsafe<Download>(Type.Any()),
  async run(ctx, { id }) {
    const run = await findRun(readTx(ctx), id);
    checkFile(run);
    // Whether the bank had it before is not known after a restore.
    await checkNotHeld(readTx(ctx), `get the file of collection run ${id}`);
    const encoder = new TextEncoder();
    const body = await createDownloadStream(
      async (write, gone) => {
        await write(encoder.encode(COLLECTION_HEADER));
        for (let after_id = 0; !gone.aborted; ) {
          const lines = await listRunLines(readTx(ctx), run, {
            after_id,
            limit: LIMITS.collection_file_batch,
          });
          const last = lines.at(-1);
          if (!last) return;
          await write(encoder.encode(collectionLines(lines)));
          after_id = last.id;
        }
      },
      {
        idle_ms: SHARED_LIMITS.download_idle_ms,
        bytes_s: SHARED_LIMITS.download_bytes_s,
        onError: (error) =>
          ctx.log.warn({ err: error, request_id: ctx.request_id, id }, "collection file broke off"),
      },
    );
    return { media_type: "text/csv; charset=utf-8", filename: `collection-${id}-${run.date}.csv`, body };
  },
});

/**
 * Applies a bank's results for the debits of a run: CSV. Each valid line is applied once, whatever is wrong with
 * others. Errors: not_found; invalid for what is not such a file. See docs/emandate_fpx.md#the-file-of-results.
 */
export const applyCollectionResults = operation({
  name: "apply_collection_results",
  permission: "emandate:write",
  target: "collection_run",
  input: strict({ ...ById.properties, csv: Type.String() }),
  output: CollectionResults,
  async run(ctx, { id, csv }) {
    await findRun(readTx(ctx), id);
    return applyResultFile(ctx, debitTarget(id), csv);
  },
});

/**
 * Applies a bank's results for any debits, found by their order numbers: CSV. Charge-backs come months later, in
 * files of many runs' debits. Otherwise as `applyCollectionResults`. Decision 0143.
 * Errors: invalid for what is not such a file.
 */
export const applyDebitResults = operation({
  name: "apply_debit_results",
  permission: "emandate:write",
  target: "mandate_payment",
  input: strict({ csv: Type.String() }),
  output: CollectionResults,
  run: (ctx, { csv }) => applyResultFile(ctx, debitTarget(), csv),
});

/** Checks that the file of a run is complete. Errors: conflict. */
function checkFile({ id, status, connector }: CollectionRun): void {
  if (status === "running") {
    throw new AppError("conflict", `Cannot get the file of collection run ${id}: it is running`);
  }
  if (status === "interrupted" && connector === "fpx") {
    const problem = "it was interrupted, and the next run has its debits";
    throw new AppError("conflict", `Cannot get the file of collection run ${id}: ${problem}`);
  }
}

/** Errors: not_found. */
async function findRun(tx: ReadTx, id: number): Promise<CollectionRun> {
  return orNotFound(await queries.findRun(tx, id), "Collection run", id);
}
