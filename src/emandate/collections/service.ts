import { Type } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { type Scope, scopeOf } from "../../core/access.ts";
import { type Download, createDownloadStream } from "../../core/download.ts";
import { AppError, invalid, notFound } from "../../core/errors.ts";
import { dayAt } from "../working_days.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { LIMITS } from "../limits.ts";
import { pagedList } from "../../core/pagination.ts";
import { ById, Nothing, paged, strict } from "../../core/schema.ts";
import { withTimeout } from "../../core/time.ts";
import type { Lock } from "../../store/lock.ts";
import type { ReadTx } from "../../store/store.ts";
import { openConnector } from "../merchant_config/open_connector.ts";
import { findConfig, worksWithFpx } from "../merchant_config/queries.ts";
import type { StoredConfig } from "../merchant_config/rules.ts";
import { dueAt } from "../payments/rules.ts";
import type { Connectors } from "../payments/submit.ts";
import { COLLECTION_HEADER, collectionLines, readResults } from "../scheme/collection_file.ts";
import { type CollectionCounts, CollectionRun, ListCollectionRuns, RunCollection } from "./model.ts";
import * as queries from "./queries.ts";
import { runningError } from "./tables.ts";
import { debitTarget, applyResults } from "../results/result_files.ts";
import { runToEnd, type CollectionJob } from "./run.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { type ConnectorName, CONNECTORS } from "../scheme/connector.ts";
import { CollectionResults } from "../results/model.ts";

/**
 * Collects what is due by the end of a day in Kuala Lumpur, today without one: payments of mandates whose day has
 * come, debits by hand, further attempts. Answers after a few seconds at the latest, with status `running` when
 * the run goes on. Errors: conflict while one runs; invalid for a day ahead outside of the sandbox.
 * Decision 0096.
 */
export const runCollection = operation({
  name: "run_collection",
  permission: "emandate:write",
  target: "collection_run",
  input: RunCollection,
  output: CollectionRun,
  run: (ctx, { date }) => startRun(ctx, date),
});

/** Collects what is due today, if anything is and no run is at it. See docs/emandate.md#collection. */
export const collectDue = operation({
  name: "collect_due",
  permission: "emandate:write",
  target: "collection_run",
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const { store, actor, now } = ctx;
    const scope = scopeOf(actor);
    const { auto_collect } = await findConfig({ q: store.read, scope, now });
    const before = dueAt(dayAt(now).add({ days: 1 }));
    if (!(await queries.isAnythingDue({ q: store.read, scope, now }, before, auto_collect))) return {};
    try {
      await startRun(ctx);
    } catch (error) {
      if (!(error instanceof AppError) || error.kind !== "conflict") throw error;
    }
    return {};
  },
});

/** Marks the company's runs as interrupted that say they run while nobody does: their process died. */
export const interruptCollections = operation({
  name: "interrupt_collections",
  permission: "emandate:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const scope = scopeOf(ctx.actor);
    const lock = await lockRuns(ctx.store, scope);
    if (lock === null) return {};
    try {
      await transaction(ctx, (tx) => queries.interruptRuns(tx));
    } finally {
      await lock.release();
    }
    return {};
  },
});

/** Lists collection runs, newest first. */
export const listCollectionRuns = operation({
  name: "list_collection_runs",
  permission: "emandate:read",
  input: ListCollectionRuns,
  output: paged(CollectionRun),
  run: (ctx, page) =>
    pagedList(page, SHARED_LIMITS.page_limit_default, (slice) => queries.listRuns(readTx(ctx), slice)),
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
 * The debits of a run as the file that a bank is given: CSV, made while it is sent, the same whenever it is asked
 * for. Errors: not_found; conflict while the run goes on, and where it was interrupted. Decision 0140.
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
    const encoder = new TextEncoder();
    const body = await createDownloadStream(
      async (write, gone) => {
        await write(encoder.encode(COLLECTION_HEADER));
        for (let after_id = 0; !gone.aborted; ) {
          const lines = await queries.listRunLines(readTx(ctx), run, {
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
 * Applies a bank's results for the debits of a run: CSV. Every line that can be used counts, whatever is wrong with
 * others, and a second time it changes nothing. Errors: not_found; invalid for what is not such a file.
 * See docs/emandate_fpx.md#the-file-of-results.
 */
export const applyCollectionResults = operation({
  name: "apply_collection_results",
  permission: "emandate:write",
  target: "collection_run",
  input: strict({ ...ById.properties, csv: Type.String() }),
  output: CollectionResults,
  async run(ctx, { id, csv }) {
    const scope = scopeOf(ctx.actor);
    await findRun(readTx(ctx), id);
    return applyResults(ctx.store, debitTarget(scope, ctx.now, id), await readResults(csv));
  },
});

/**
 * Applies a bank's results for debits of any run, and for those that no run made: CSV, which finds them by their
 * numbers. Charge-backs come months later, in files of many runs' debits. As `applyCollectionResults` otherwise.
 * Errors: invalid for what is not such a file. Decision 0143.
 */
export const applyDebitResults = operation({
  name: "apply_debit_results",
  permission: "emandate:write",
  target: "mandate_payment",
  input: strict({ csv: Type.String() }),
  output: CollectionResults,
  run: async ({ store, actor, now }, { csv }) =>
    applyResults(store, debitTarget(scopeOf(actor), now), await readResults(csv)),
});

const NOTHING_YET: CollectionCounts = { due: 0, scheduled: 0, skipped: 0, submitted: 0, refused: 0 };

/** Begins a run and answers it as it ended or, over HTTP after a few seconds, as it stands. */
async function startRun(ctx: Context, date?: string): Promise<CollectionRun> {
  const { store, actor, now, origin, background } = ctx;
  const scope = scopeOf(actor);
  const config = await findConfig({ q: store.read, scope, now });
  const day = dayAt(now);
  const until = date === undefined ? day : Temporal.PlainDate.from(date);
  const is_ahead = Temporal.PlainDate.compare(until, day) > 0;
  if (is_ahead) checkAhead(until, day, config);
  // Only mandates of the sandbox look ahead, and what a bank gets stands in a file without any of theirs.
  const connector: ConnectorName =
    !is_ahead && (await needsFpx({ q: store.read, scope, now }, config)) ? "fpx" : "sandbox";
  const connects = connector === "fpx" ? CONNECTORS : [connector];
  const { connectors, error } = await openConnectors(ctx, config, connects);
  const requested_by = actor.kind === "user" ? actor.user_id : null;
  const lock = await lockRuns(store, scope);
  if (lock === null) throw runningError();
  const begun = store.tx(async (q) => {
    await queries.interruptRuns({ q, scope, now });
    const row = { connector, date: until.toString(), requested_by, counts: NOTHING_YET, error };
    return queries.insertRun({ q, scope, now }, row);
  });
  const run = await begun.catch(async (refused: unknown) => {
    await lock.release();
    throw refused;
  });
  const is_job = origin === "job";
  const today = is_ahead ? until : day;
  const collects = !is_job || config.auto_collect;
  const work = { ctx, scope, run, until, today, connects, connectors, collects };
  const running = background.track(runUnder(lock, work));
  if (is_job || origin === "cli") return running;
  return (
    (await withTimeout(running, LIMITS.collection_wait_ms)) ??
    (await queries.findRun({ q: store.read, scope, now }, run.id)) ??
    run
  );
}

/** Whether there may be anything for a bank's file, be it only a debit to give up whose mandate has ended. */
async function needsFpx(tx: ReadTx, config: StoredConfig): Promise<boolean> {
  if (await worksWithFpx(tx, config)) return true;
  return (await queries.listUnfiled(tx, { after_id: 0, limit: 1 })).length > 0;
}

async function runUnder(lock: Lock, work: CollectionJob): Promise<CollectionRun> {
  try {
    return await runToEnd(work);
  } finally {
    await lock.release();
  }
}

/** Held by whoever runs a collection of the company. */
function lockRuns(store: Context["store"], { company_id }: Scope): Promise<Lock | null> {
  return store.lock(`collection run of company ${company_id}`);
}

/** Errors: invalid. */
function checkAhead(
  until: Temporal.PlainDate,
  today: Temporal.PlainDate,
  { connector }: Pick<StoredConfig, "connector">,
): void {
  if (connector !== "sandbox")
    throw invalid("/date", `must not be after ${today.toString()}: only the sandbox looks ahead`);
  const latest = today.add({ years: LIMITS.collection_years_ahead });
  if (Temporal.PlainDate.compare(until, latest) > 0)
    throw invalid("/date", `must not be after ${latest.toString()}`);
}

/** The ways to the scheme that can be used, and why one can't, if so. */
async function openConnectors(
  ctx: Context,
  config: StoredConfig,
  connects: readonly ConnectorName[],
): Promise<{ connectors: Connectors; error: string | null }> {
  const opened = new Map<ConnectorName, Awaited<ReturnType<typeof openConnector>>>();
  let error: string | null = null;
  for (const name of connects) {
    try {
      opened.set(name, await openConnector(ctx, config, name));
    } catch (refused) {
      if (!(refused instanceof AppError)) throw refused;
      error = refused.message;
    }
  }
  return { connectors: opened, error };
}

/** Nothing is added to a run that has ended. Errors: conflict. */
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
  const run = await queries.findRun(tx, id);
  if (!run) throw notFound("Collection run", id);
  return run;
}
