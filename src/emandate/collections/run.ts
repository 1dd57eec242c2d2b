import type { Context } from "../../app/context.ts";
import type { Scope } from "../../core/access.ts";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { type IsoInstant, iso } from "../../core/time.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { type DueCursor, listDuePayments } from "../payments/open_queries.ts";
import { type DueMandate, paymentPlanner } from "../payments/plan_payments.ts";
import { insertPayments } from "../payments/queries.ts";
import { dueAt, paymentEvent } from "../payments/rules.ts";
import { type Connectors, sendDebits, submitPayments } from "../payments/submit.ts";
import type { ConnectorName } from "../scheme/connector.ts";
import { fileDebits } from "./file_debits.ts";
import { listUnfiled } from "./file_queries.ts";
import type { CollectionCounts, CollectionRun } from "./model.ts";
import * as queries from "./queries.ts";

/** The part of a context that a run needs. */
type CollectionDeps = Pick<Context, "store" | "log" | "now" | "request_id" | "background">;

/** A collection run with its days and connectors. */
export interface CollectionJob {
  readonly ctx: CollectionDeps;
  readonly scope: Scope;
  /** The run as inserted. */
  readonly run: CollectionRun;
  /** It collects what is due by the end of this day. */
  readonly until: Temporal.PlainDate;
  readonly today: Temporal.PlainDate;
  /** The connectors whose mandates it collects. */
  readonly connects: readonly ConnectorName[];
  /** Those of them that could be opened. */
  readonly connectors: Connectors;
  /** Whether due mandates are collected; if not, only payments that wait already are sent. */
  readonly collects: boolean;
}

/** Another process has ended the run meanwhile; the step that finds out is rolled back. */
class RunSuperseded extends Error {}

/**
 * Collects until everything due is sent or the process stops. Each step is a transaction of its own, and what is left
 * follows from the records alone. Never throws: the run records what interrupted it, and the log. Decision 0096.
 */
export async function runToEnd(job: CollectionJob): Promise<CollectionRun> {
  const { ctx, scope } = job;
  const progress = new Progress(job);
  try {
    if (job.collects) await scheduleAll(job, progress);
    await fileAll(job, progress);
    await submitAll(job, progress, "retry_scheduled");
    await submitAll(job, progress, "scheduled");
    progress.end(ctx.background.is_stopping ? "interrupted" : "finished");
  } catch (error) {
    progress.end("interrupted", error instanceof AppError ? error.message : "Internal error");
    ctx.log.error({ err: error, request_id: ctx.request_id, ...scope }, "collection run interrupted");
  }
  try {
    await ctx.store.tx((q) => queries.updateRun(q, progress.run));
  } catch (error) {
    // The row stays "running" until the next run finds the lock free.
    ctx.log.error({ err: error, request_id: ctx.request_id, ...scope }, "collection run not written down");
  }
  return progress.run;
}

/** The run with its counts so far. */
class Progress {
  readonly #started_ms = performance.now();
  readonly #began_at: Temporal.Instant;
  run: CollectionRun;

  constructor({ run, ctx }: CollectionJob) {
    this.run = run;
    this.#began_at = ctx.now;
  }

  /** The run with more counted: written with a step, and kept once that has committed. */
  with(added: Partial<CollectionCounts>): CollectionRun {
    const counts = { ...this.run.counts };
    counts.due += added.due ?? 0;
    counts.scheduled += added.scheduled ?? 0;
    counts.skipped += added.skipped ?? 0;
    counts.submitted += added.submitted ?? 0;
    counts.refused += added.refused ?? 0;
    return { ...this.run, counts, updated_at: this.#time() };
  }

  end(status: CollectionRun["status"], error = this.run.error): void {
    const at = this.#time();
    this.run = { ...this.run, status, error, finished_at: at, updated_at: at };
  }

  /** The current time: `now` is fixed for the call, and a run may take long. */
  #time(): IsoInstant {
    return iso(this.#began_at.add({ milliseconds: Math.round(performance.now() - this.#started_ms) }));
  }
}

/** Inserts the payments of every due mandate. */
async function scheduleAll(job: CollectionJob, progress: Progress): Promise<void> {
  const page = { before: dueBefore(job), connectors: job.connects, limit: LIMITS.collection_batch };
  while (!job.ctx.background.is_stopping) {
    const { found } = await runStep(job, progress, async (tx) => {
      // Read inside the transaction: an amendment that the bank has just accepted counts.
      const due = await queries.listDueMandates(tx, page);
      return { found: due.length, ...(await scheduleBatch(tx, job, due)) };
    });
    if (found === 0) return;
  }
}

/** Advances mandates, each unless another process did, and inserts their payments. */
async function scheduleBatch(
  tx: Tx,
  days: Pick<CollectionJob, "until" | "today">,
  due: readonly DueMandate[],
): Promise<Partial<CollectionCounts>> {
  const plan = paymentPlanner(days);
  const planned = due.map((mandate) => ({ mandate, ...plan(mandate) }));
  const advanced = new Set<number>();
  const steps = Map.groupBy(planned, ({ mandate, next }) => `${mandate.next_collection_at} ${next}`);
  for (const [first, ...rest] of steps.values()) {
    if (!first) continue;
    const ids = [first, ...rest].map(({ mandate }) => mandate.id);
    const step = { was: first.mandate.next_collection_at, next: first.next };
    for (const id of await queries.advanceMandates(tx, ids, step)) advanced.add(id);
  }
  const plans = planned.filter(({ mandate }) => advanced.has(mandate.id));
  const inserted = await insertPayments(
    tx,
    plans.flatMap(({ payments }) => payments),
  );
  await recordEvents(tx, inserted.map(paymentEvent));
  const scheduled = inserted.filter(({ status }) => status === "scheduled").length;
  return { due: plans.length, scheduled, skipped: inserted.length - scheduled };
}

/** Takes every debit that is in no file yet into the run's. */
async function fileAll(job: CollectionJob, progress: Progress): Promise<void> {
  const { ctx, run, today, connects } = job;
  const limit = LIMITS.collection_batch;
  for (let after_id = 0; connects.includes("fpx") && !ctx.background.is_stopping; ) {
    const unfiled = await listUnfiled(readOf(job), { after_id, limit });
    const last = unfiled.at(-1);
    if (!last) return;
    after_id = last.id;
    const ids = unfiled.map(({ id }) => id);
    await runStep(job, progress, (tx) => fileDebits(tx, ids, { today, run_id: run.id }));
  }
}

/** Submits and sends every due payment in one of the open states. */
async function submitAll(
  job: CollectionJob,
  progress: Progress,
  status: "scheduled" | "retry_scheduled",
): Promise<void> {
  const { ctx, scope, run, today, connectors, collects } = job;
  const page = { before: dueBefore(job), usable: [...connectors.keys()], collects };
  let after: DueCursor | undefined;
  while (!ctx.background.is_stopping) {
    const limit = LIMITS.collection_batch;
    const due = await listDuePayments(readOf(job), status, { ...page, after, limit });
    after = due.at(-1);
    if (!after) return;
    const ids = due.map(({ id }) => id);
    const { orders } = await runStep(job, progress, async (tx) => {
      const submitted = await submitPayments(tx, ids, { today, collection_run_id: run.id });
      const counts = { submitted: submitted.orders.length, refused: submitted.refused.length };
      return { ...counts, orders: submitted.orders };
    });
    await sendDebits(ctx, scope, connectors, orders);
  }
}

function readOf({ ctx, scope }: CollectionJob): ReadTx {
  return { q: ctx.store.read, scope, now: ctx.now };
}

function dueBefore({ until }: CollectionJob): IsoInstant {
  return dueAt(until.add({ days: 1 }));
}

/**
 * One checkpointed step: its writes and the run's progress commit together; then requests get their turn.
 * Errors: RunSuperseded where another process has ended the run.
 */
async function runStep<T extends Partial<CollectionCounts>>(
  { ctx: { store, now }, scope }: CollectionJob,
  progress: Progress,
  step: (tx: Tx) => Promise<T>,
): Promise<T> {
  const done = await store.tx(async (q) => {
    const result = await step({ q, scope, now });
    const run = progress.with(result);
    if (!(await queries.updateRun(q, run))) throw new RunSuperseded("Another run took this one's place");
    return { result, run };
  });
  progress.run = done.run;
  await Bun.sleep(LIMITS.collection_pause_ms);
  return done.result;
}
