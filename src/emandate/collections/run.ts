import type { Context } from "../../app/context.ts";
import type { Scope } from "../../core/access.ts";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { type IsoInstant, iso } from "../../core/time.ts";
import type { Queries } from "../../store/store.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { type DueCursor, listDuePayments } from "../payments/open_queries.ts";
import { type DueMandate, planPayments } from "../payments/plan_payments.ts";
import { insertPayments } from "../payments/queries.ts";
import { dueAt, paymentEvent } from "../payments/rules.ts";
import { type Connectors, sendDebits, submitPayments } from "../payments/submit.ts";
import { fileDebits } from "./file_debits.ts";
import type { CollectionCounts, CollectionRun } from "./model.ts";
import type { ConnectorName } from "../scheme/connector.ts";
import * as queries from "./queries.ts";

/** What of a context a run needs. */
type CollectionDeps = Pick<Context, "store" | "log" | "now" | "request_id" | "background">;

/** A run on its way. */
export interface CollectionJob {
  readonly ctx: CollectionDeps;
  readonly scope: Scope;
  /** As it was begun. */
  readonly run: CollectionRun;
  /** Up to the end of which day it collects, and which day it is meanwhile. */
  readonly until: Temporal.PlainDate;
  readonly today: Temporal.PlainDate;
  /** Whose mandates it takes, and the ways to the scheme of those that can be used. */
  readonly connects: readonly ConnectorName[];
  readonly connectors: Connectors;
  /** Whether mandates are collected; else only what waits already is sent. */
  readonly collects: boolean;
}

/** Thrown where the run is another's or nobody's by now: what it was about to do is undone. */
class RunSuperseded extends Error {}

/**
 * Collects until everything due is sent or the process is about to end; each step is a transaction of its own, and
 * what is left follows from the records alone. Never throws: what stopped it is told in the run and logged.
 * Decision 0096.
 */
export async function runToEnd(work: CollectionJob): Promise<CollectionRun> {
  const { ctx, scope } = work;
  const progress = new Progress(work);
  try {
    if (work.collects) await scheduleAll(work, progress);
    await fileAll(work, progress);
    await submitAll(work, progress, "retry_scheduled");
    await submitAll(work, progress, "scheduled");
    progress.end(ctx.background.is_stopping ? "interrupted" : "finished");
  } catch (error) {
    progress.end("interrupted", error instanceof AppError ? error.message : "Internal error");
    ctx.log.error({ err: error, request_id: ctx.request_id, ...scope }, "collection run interrupted");
  }
  try {
    await ctx.store.tx(async (q) => {
      await queries.updateRun(q, progress.run);
    });
  } catch (error) {
    // The row says "running" until the next run finds that nobody is at it.
    ctx.log.error({ err: error, request_id: ctx.request_id, ...scope }, "collection run not written down");
  }
  return progress.run;
}

/** How far a run is. */
class Progress {
  readonly #started_ms = performance.now();
  readonly #began_at: Temporal.Instant;
  #run: CollectionRun;

  constructor({ run, ctx }: CollectionJob) {
    this.#run = run;
    this.#began_at = ctx.now;
  }

  get run(): CollectionRun {
    return this.#run;
  }

  /** The run when so much more is done: to be written with it, and kept once that is durable. */
  with(added: Partial<CollectionCounts>): CollectionRun {
    const counts = { ...this.#run.counts };
    counts.due += added.due ?? 0;
    counts.scheduled += added.scheduled ?? 0;
    counts.skipped += added.skipped ?? 0;
    counts.submitted += added.submitted ?? 0;
    counts.refused += added.refused ?? 0;
    return { ...this.#run, counts, updated_at: this.#time() };
  }

  keep(run: CollectionRun): void {
    this.#run = run;
  }

  end(status: CollectionRun["status"], error = this.#run.error): void {
    const at = this.#time();
    this.#run = { ...this.#run, status, error, finished_at: at, updated_at: at };
  }

  /** The call's `now` stands still; a run may take long. */
  #time(): IsoInstant {
    return iso(this.#began_at.add({ milliseconds: Math.round(performance.now() - this.#started_ms) }));
  }
}

/** Makes the payments of every mandate that is due. */
async function scheduleAll(work: CollectionJob, progress: Progress): Promise<void> {
  const { ctx, scope, until, connects } = work;
  const page = {
    before: dueAt(until.add({ days: 1 })),
    connectors: connects,
    limit: LIMITS.collection_batch,
  };
  while (!ctx.background.is_stopping) {
    const { found } = await runStep(work, progress, async (q) => {
      // Read where it is written: a change that the bank has just taken counts.
      const due = await queries.listDueMandates({ q, scope, now: ctx.now }, page);
      return { found: due.length, ...(await scheduleBatch(q, work, due)) };
    });
    if (found === 0) return;
  }
}

/** Advances the mandates that nobody else advanced, and writes their payments. */
async function scheduleBatch(
  q: Queries,
  { scope, ctx: { now }, ...days }: CollectionJob,
  due: readonly DueMandate[],
): Promise<Partial<CollectionCounts>> {
  const planned = due.map((mandate) => ({ mandate, ...planPayments(mandate, days) }));
  const won = new Set<number>();
  const steps = Map.groupBy(planned, ({ mandate, next }) => `${mandate.next_collection_at} ${next}`);
  for (const [first, ...rest] of steps.values()) {
    if (!first) continue;
    const ids = [first, ...rest].map(({ mandate }) => mandate.id);
    const step = { was: first.mandate.next_collection_at, next: first.next };
    for (const id of await queries.advanceMandates({ q, scope, now }, ids, step)) won.add(id);
  }
  const mine = planned.filter(({ mandate }) => won.has(mandate.id));
  const payments = await insertPayments(
    { q, scope, now },
    mine.flatMap((one) => one.payments),
  );
  await recordEvents({ q, scope, now }, payments.map(paymentEvent));
  const scheduled = payments.filter(({ status }) => status === "scheduled").length;
  return { due: mine.length, scheduled, skipped: payments.length - scheduled };
}

/** Takes into the run's file what left in no other one. */
async function fileAll(work: CollectionJob, progress: Progress): Promise<void> {
  const { ctx, scope, run, today, connects } = work;
  const limit = LIMITS.collection_batch;
  for (let after_id = 0; connects.includes("fpx") && !ctx.background.is_stopping; ) {
    const unfiled = await queries.listUnfiled(
      { q: ctx.store.read, scope, now: ctx.now },
      { after_id, limit },
    );
    const last = unfiled.at(-1);
    if (!last) return;
    after_id = last.id;
    const ids = unfiled.map(({ id }) => id);
    const day = { today, run_id: run.id };
    await runStep(work, progress, (q) => fileDebits({ q, scope, now: ctx.now }, ids, day));
  }
}

/** Submits and sends every payment that waits in one of the open states and whose time has come. */
async function submitAll(
  work: CollectionJob,
  progress: Progress,
  status: "scheduled" | "retry_scheduled",
): Promise<void> {
  const { ctx, scope, run, until, today, connectors, collects } = work;
  const before = dueAt(until.add({ days: 1 }));
  const usable = [...connectors.keys()];
  let after: DueCursor | undefined;
  while (!ctx.background.is_stopping) {
    const where = { before, after, usable, collects, limit: LIMITS.collection_batch };
    const due = await listDuePayments({ q: ctx.store.read, scope, now: ctx.now }, status, where);
    after = due.at(-1);
    if (!after) return;
    const ids = due.map(({ id }) => id);
    const options = { today, collection_run_id: run.id };
    const orders = await runStep(work, progress, async (q) => {
      const submitted = await submitPayments({ q, scope, now: ctx.now }, ids, options);
      const counts = { submitted: submitted.orders.length, refused: submitted.refused.length };
      return { ...counts, orders: submitted.orders };
    });
    await sendDebits(ctx, scope, connectors, orders.orders);
  }
}

/**
 * One transaction of a run, with how far that brings it; then requests get their turn. Errors: RunOver where the
 * run was ended meanwhile, by an instance that took it for dead.
 */
async function runStep<T extends Partial<CollectionCounts>>(
  { ctx }: CollectionJob,
  progress: Progress,
  step: (q: Queries) => Promise<T>,
): Promise<T> {
  const { done, counts } = await ctx.store.tx(async (q) => {
    const result = await step(q);
    const run = progress.with(result);
    if (!(await queries.updateRun(q, run))) throw new RunSuperseded("Another run took this one's place");
    return { done: result, counts: run };
  });
  progress.keep(counts);
  await Bun.sleep(LIMITS.collection_pause_ms);
  return done;
}
