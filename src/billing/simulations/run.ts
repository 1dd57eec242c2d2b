import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { chunks, interleave, nextTurn } from "../../core/chunk.ts";
import { AppError } from "../../core/errors.ts";
import { Nothing } from "../../core/schema.ts";
import { iso } from "../../core/time.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { asStored } from "../billing_models/read_tried.ts";
import { LIMITS } from "../limits.ts";
import type { Spread } from "./model.ts";
import * as queries from "./queries.ts";
import { type Batch, readBatch } from "./read_batch.ts";
import { addOfStep, addPeriods, rowOf, SpreadOfDifferences, type Tally } from "./rules.ts";
import { type Simulated, simulateBatch, type Trial } from "./simulate.ts";

type Running = queries.RunningSimulation;

/**
 * Carries on with the company's simulations for a while, the oldest first. A step's rows are written with how far it
 * got, so that one whose process was killed goes on after its last step. Decision 0248.
 */
export const carryOnSimulations = operation({
  name: "carry_on_simulations",
  permission: "simulations:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const began_ms = performance.now();
    while (!ctx.background.is_stopping && performance.now() - began_ms < LIMITS.simulation_slice_ms) {
      const simulation = await queries.findRunning(readTx(ctx));
      if (!simulation) break;
      try {
        if (!(await takeStep(ctx, simulation))) break;
      } catch (error) {
        await noteFailure(ctx, simulation, error);
        break;
      }
    }
    return {};
  },
});

/** Deletes simulations that were deleted, or made long ago, some rows at a time. */
export const pruneSimulations = operation({
  name: "prune_simulations",
  permission: "simulations:write",
  uses_reserve: true,
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const before = iso(ctx.now.subtract({ hours: 24 * LIMITS.simulation_days }));
    for (;;) {
      const old = await queries.findDisposable(readTx(ctx), before);
      if (!old || ctx.background.is_stopping) return {};
      while (!(await transaction(ctx, (tx) => queries.deletePart(tx, old.id, LIMITS.simulation_write))))
        await nextTurn();
    }
  },
});

/** Simulates the next subscriptions. Returns false when the process is about to end. */
async function takeStep(ctx: Context, simulation: Running): Promise<boolean> {
  const { id } = simulation;
  const batch = await readBatch(ctx, simulation);
  if (batch.last_id === null) {
    await finish(ctx, simulation);
    return true;
  }
  const simulated = await simulateBatch(ctx, batch, trialOf(ctx, simulation));
  if (simulated === null) return false;
  const { tally, rows } = await sumUp(simulation, simulated, batch.left_out);
  await transaction(ctx, async (tx) => {
    const step = {
      ...tally,
      after_id: batch.last_id ?? 0,
      attempts: 0,
      progress: progressOf(simulation, batch),
    };
    // Deleted meanwhile, or another process has taken this step: what was worked out is not needed.
    if (!(await queries.saveStep(tx, simulation, step))) return;
    for (const part of chunks(rows, LIMITS.simulation_write))
      await queries.insertSimulationRows(tx, id, part);
  });
  return true;
}

/** The totals with those of a step, and the rows of its subscriptions. */
async function sumUp(
  simulation: Running,
  { periods, failures, without_events }: Simulated,
  left_out: Batch["left_out"],
) {
  const { currency } = simulation;
  const of_subscriptions = Map.groupBy(periods, ({ subscription_id }) => subscription_id);
  let tally: Tally = simulation;
  for await (const part of interleave(periods, LIMITS.simulation_sum))
    tally = addPeriods(tally, part, currency);
  const rows: queries.NewRow[] = [];
  for await (const part of interleave([...of_subscriptions], LIMITS.simulation_sum))
    rows.push(...part.map(([subscription_id, own]) => ({ subscription_id, ...rowOf(own, currency) })));
  const counts = { ...left_out, without_events, subscriptions: of_subscriptions.size };
  return { tally: addOfStep(tally, counts, failures), rows };
}

function progressOf({ progress: { subscriptions, done } }: Running, { looked_at }: Batch) {
  // Subscriptions may have come since they were counted.
  return { subscriptions: Math.max(subscriptions, done + looked_at), done: done + looked_at };
}

/** What is tried, as it was when the simulation was created. */
function trialOf(ctx: Context, { draft, billing_model_id, of }: Running): Trial {
  if (draft === null)
    throw new AppError("conflict", "An earlier version started this simulation: start it again");
  const model = asStored(readTx(ctx), draft, billing_model_id);
  return { model, in_place_of: of?.billing_model_id };
}

async function finish(ctx: Context, simulation: Running): Promise<void> {
  const spread = await spreadOf(ctx, simulation);
  const { id, billing_model_id, counts } = simulation;
  const reproduces = counts.not_reproduced === 0;
  await transaction(ctx, async (tx) => {
    const end = { status: "finished" as const, spread, reproduces, finished_at: iso(tx.now) };
    if (!(await queries.saveStep(tx, simulation, end))) return;
    const data = { id, status: "finished", billing_model_id, reproduces };
    await recordEvents(tx, [{ type: "simulation.finished", data }]);
  });
}

async function spreadOf(ctx: Context, { id, currency }: Running): Promise<Spread | null> {
  const spread = new SpreadOfDifferences(currency);
  for (let after_id = 0; ; await nextTurn()) {
    const rows = await queries.listRowsAfter(readTx(ctx), id, { after_id, limit: LIMITS.simulation_write });
    for (const { subscription_id, difference } of rows) spread.add(subscription_id, difference);
    const last = rows.at(-1);
    if (!last) return spread.result(currency);
    after_id = last.subscription_id;
  }
}

/**
 * Tries the step again, from its second failure on at half the size, which later steps keep; after some failures in a row
 * the simulation fails.
 */
async function noteFailure(ctx: Context, simulation: Running, error: unknown): Promise<void> {
  const { id, billing_model_id, attempts, halvings } = simulation;
  ctx.log.warn({ err: error, request_id: ctx.request_id, simulation_id: id }, "a simulation's step failed");
  await transaction(ctx, async (tx) => {
    if (attempts + 1 < LIMITS.simulation_attempts) {
      // What failed once may have been in the way of something else; what is too large fails again.
      const halved = attempts > 0 ? halvings + 1 : halvings;
      await queries.saveStep(tx, simulation, { attempts: attempts + 1, halvings: halved });
      return;
    }
    const message = error instanceof AppError ? error.message : "Internal error";
    const end = { status: "failed" as const, error: message, finished_at: iso(tx.now) };
    if (!(await queries.saveStep(tx, simulation, end))) return;
    const data = { id, status: "failed", billing_model_id, reproduces: null };
    await recordEvents(tx, [{ type: "simulation.finished", data }]);
  });
}
