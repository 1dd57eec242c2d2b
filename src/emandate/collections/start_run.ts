import type { Context } from "../../app/context.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { type Scope, scopeOf } from "../../core/access.ts";
import { AppError, invalid } from "../../core/errors.ts";
import { type IsoInstant, withTimeout } from "../../core/time.ts";
import type { Lock } from "../../store/lock.ts";
import type { ReadTx } from "../../store/store.ts";
import { checkNotHeld } from "../holds/queries.ts";
import { openConnector } from "../merchant_config/open_connector.ts";
import { findConfig, worksWithFpx } from "../merchant_config/queries.ts";
import type { StoredConfig } from "../merchant_config/rules.ts";
import { listDuePayments } from "../payments/open_queries.ts";
import { OPEN_STATUSES } from "../payments/rules.ts";
import type { Connectors } from "../payments/submit.ts";
import { type ConnectorName, CONNECTORS, type SchemeConnector } from "../scheme/connector.ts";
import { LIMITS } from "../limits.ts";
import { dayAt } from "../working_days.ts";
import { listUnfiled } from "./file_queries.ts";
import type { CollectionCounts, CollectionRun } from "./model.ts";
import * as queries from "./queries.ts";
import { type CollectionJob, runToEnd } from "./run.ts";
import { runningError } from "./tables.ts";

const NO_COUNTS: CollectionCounts = { due: 0, scheduled: 0, skipped: 0, submitted: 0, refused: 0 };

/**
 * Starts a run up to the end of `date`, today without one, and returns it as it ended or, over HTTP after a few
 * seconds, as it is then. Errors: conflict while one runs or debits are held; invalid for a day ahead outside of the
 * sandbox.
 */
export async function startRun(ctx: Context, date?: string): Promise<CollectionRun> {
  const { store, actor, now, origin, background } = ctx;
  const scope = scopeOf(actor);
  await checkNotHeld(readTx(ctx), "start a collection run");
  const config = await findConfig(readTx(ctx));
  const day = dayAt(now);
  const until = date === undefined ? day : Temporal.PlainDate.from(date);
  const is_ahead = Temporal.PlainDate.compare(until, day) > 0;
  if (is_ahead) checkAhead(until, day, config);
  // Only mandates of the sandbox look ahead, and the file of an FPX run holds none of theirs.
  const connector: ConnectorName = !is_ahead && (await needsFpx(readTx(ctx), config)) ? "fpx" : "sandbox";
  const connects = connector === "fpx" ? CONNECTORS : [connector];
  const { connectors, error } = await openConnectors(ctx, config, connects);
  const requested_by = actor.kind === "user" ? actor.user_id : null;
  const lock = await lockRuns(store, scope);
  if (lock === null) throw runningError();
  const inserted = transaction(ctx, async (tx) => {
    await queries.interruptRuns(tx);
    const row = { connector, date: until.toString(), requested_by, counts: NO_COUNTS, error };
    return queries.insertRun(tx, row);
  });
  const run = await inserted.catch(async (refused: unknown) => {
    await lock.release();
    throw refused;
  });
  const is_job = origin === "job";
  const today = is_ahead ? until : day;
  const collects = !is_job || config.auto_collect;
  const job = { ctx, scope, run, until, today, connects, connectors, collects };
  const running = background.track(runUnder(lock, job));
  if (is_job || origin === "cli") return running;
  return (
    (await withTimeout(running, LIMITS.collection_wait_ms)) ??
    (await queries.findRun(readTx(ctx), run.id)) ??
    run
  );
}

/** Takes the lock that the process running a collection of the company holds; null where it is taken. */
export function lockRuns(store: Context["store"], { company_id }: Scope): Promise<Lock | null> {
  return store.lock(`collection run of company ${company_id}`);
}

/** Whether a run would find anything to do by `before`; due mandates count only where it `collects` them. */
export async function isAnythingDue(tx: ReadTx, before: IsoInstant, collects: boolean): Promise<boolean> {
  const due = { before, connectors: CONNECTORS, limit: 1 };
  if (collects && (await queries.listDueMandates(tx, due)).length > 0) return true;
  const page = { before, after: undefined, usable: CONNECTORS, collects, limit: 1 };
  for (const status of OPEN_STATUSES) {
    if ((await listDuePayments(tx, status, page)).length > 0) return true;
  }
  return hasUnfiled(tx);
}

async function hasUnfiled(tx: ReadTx): Promise<boolean> {
  return (await listUnfiled(tx, { after_id: 0, limit: 1 })).length > 0;
}

/** Whether there may be debits for a bank's file, if only ones to cancel because their mandate has ended. */
async function needsFpx(tx: ReadTx, config: StoredConfig): Promise<boolean> {
  return (await worksWithFpx(tx, config)) || (await hasUnfiled(tx));
}

async function runUnder(lock: Lock, job: CollectionJob): Promise<CollectionRun> {
  try {
    return await runToEnd(job);
  } finally {
    await lock.release();
  }
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

/** The connectors that can be used, and why another can't. */
async function openConnectors(
  ctx: Context,
  config: StoredConfig,
  connects: readonly ConnectorName[],
): Promise<{ connectors: Connectors; error: string | null }> {
  const connectors = new Map<ConnectorName, SchemeConnector>();
  let error: string | null = null;
  for (const name of connects) {
    try {
      connectors.set(name, await openConnector(ctx, config, name));
    } catch (refused) {
      if (!(refused instanceof AppError)) throw refused;
      error = refused.message;
    }
  }
  return { connectors, error };
}
