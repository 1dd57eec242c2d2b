import type { Context } from "../../app/context.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { recordSystemChange } from "../../audit/recorder.ts";
import { AppError, invalid } from "../../core/errors.ts";
import { periodContaining } from "../../core/periods.ts";
import { type IsoInstant, instant, iso, later } from "../../core/time.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import type { ChangeTimeline } from "../billing_model_changes/change_timeline.ts";
import type { BillingModelChange } from "../billing_model_changes/model.ts";
import { findNewModel, type PlannedChange, requestChange } from "../billing_model_changes/request_change.ts";
import { validateChange } from "../billing_model_changes/rules.ts";
import { LIMITS } from "../limits.ts";
import { NEXT_PERIOD } from "../billing_model_changes/model.ts";
import * as queries from "./queries.ts";

// A migration goes through its subscriptions by id, one transaction each: it has the change, and how far the migration
// is. So a process that is killed leaves none half done, and the next one goes on after the last. Decision 0246.

/** What each subscription of a migration is changed to, and when. */
export interface Move {
  readonly from_billing_model_id: number;
  readonly to_billing_model_id: number;
  readonly at: string;
  /** When it was asked for: the period that then runs is the one whose end is meant. */
  readonly created_at: IsoInstant;
  readonly requested_by: number | null;
}

/** Thrown inside a transaction to roll it back: another process has moved the subscription meanwhile. */
class Overtaken extends Error {}

/** The change of one subscription. Errors: invalid. */
export async function planMove(tx: ReadTx, current: ChangeTimeline, move: Move): Promise<PlannedChange> {
  const { from_billing_model_id, to_billing_model_id: new_billing_model_id, requested_by } = move;
  const { subscription, changes, zones } = current;
  await findNewModel(tx, current, new_billing_model_id);
  const live = later(instant(move.created_at), instant(subscription.started_at));
  const is_period = move.at === NEXT_PERIOD;
  const effective_at = is_period
    ? iso(periodContaining(live, subscription.billing_anchor_day, zones).to)
    : iso(instant(move.at));
  const change = { new_billing_model_id, effective_at };
  const valid = validateChange(subscription, changes, change);
  if ("field" in valid) throw invalid(`/${valid.field}`, valid.message);
  if (valid.old_billing_model_id !== from_billing_model_id) {
    const there = `it is on billing model ${valid.old_billing_model_id}`;
    throw invalid("/from_billing_model_id", `is not the subscription's at ${effective_at}: ${there}`);
  }
  const is_applied = effective_at <= iso(tx.now);
  const after_period_at = is_period && !is_applied ? iso(live) : undefined;
  const rest = { kind: "change" as const, credits_added: null, replaces: [], is_applied };
  return { ...valid, ...change, ...rest, after_period_at, requested_by };
}

/** Carries on the company's migrations, first begun first, until they are finished or the process stops. */
export async function carryOnAll(ctx: Context): Promise<void> {
  while (!ctx.background.is_stopping) {
    const migration = await queries.findRunning(readTx(ctx));
    if (!migration || !(await carryOn(ctx, migration))) return;
  }
}

/** Moves the next subscriptions of a migration, or finishes it. Returns whether to go on. */
async function carryOn(ctx: Context, migration: queries.RunningMigration): Promise<boolean> {
  const ids = await queries.listToMove(readTx(ctx), migration, LIMITS.migration_batch);
  if (ids.length === 0) {
    await transaction(ctx, (tx) => finish(tx, migration.id));
    return true;
  }
  for (const id of ids) {
    if (ctx.background.is_stopping) return false;
    if (!(await moveOne(ctx, migration, id))) return false;
    // An embedded database never yields to the event loop: here requests can run.
    await Bun.sleep(0);
  }
  return true;
}

/** Moves one subscription, or records why it can't be moved. Returns false where another process was faster. */
async function moveOne(ctx: Context, migration: queries.RunningMigration, id: number): Promise<boolean> {
  const afterwards = async (tx: Tx, change: BillingModelChange) => {
    await advance(tx, migration.id, id, null);
    const target = { type: "billing_model_change", id: change.id };
    await recordSystemChange(ctx, tx, "create_billing_model_change", target);
  };
  try {
    await requestChange(ctx, id, (tx, current) => planMove(tx, current, migration), afterwards);
    return true;
  } catch (error) {
    if (error instanceof Overtaken) return false;
    // The store is busy or away: the next run of the job tries again.
    if (error instanceof AppError && error.kind === "unavailable") throw error;
    const message = error instanceof AppError ? error.message : "Internal error";
    if (!(error instanceof AppError)) {
      const fields = { request_id: ctx.request_id, subscription_id: id, migration_id: migration.id };
      ctx.log.error({ err: error, ...fields }, "cannot move a subscription");
    }
    return recordFailure(ctx, migration.id, id, message);
  }
}

async function recordFailure(
  ctx: Context,
  migration_id: number,
  id: number,
  message: string,
): Promise<boolean> {
  try {
    await transaction(ctx, (tx) => advance(tx, migration_id, id, message));
    return true;
  } catch (error) {
    if (error instanceof Overtaken) return false;
    throw error;
  }
}

/** Counts a subscription as moved or, with a message, as failed. Errors: Overtaken where it was counted already. */
async function advance(tx: Tx, migration_id: number, id: number, message: string | null): Promise<void> {
  const now = await queries.findRunning(tx, migration_id);
  if (!now || now.after_id >= id) throw new Overtaken();
  const { changed, failed } = now.counts;
  if (message === null) {
    const counts = { ...now.counts, changed: changed + 1 };
    return queries.updateMigration(tx, migration_id, { after_id: id, counts });
  }
  const counts = { ...now.counts, failed: failed + 1 };
  const is_listed = now.errors.length < LIMITS.migration_errors;
  const errors = is_listed ? { errors: [...now.errors, { subscription_id: id, message }] } : {};
  return queries.updateMigration(tx, migration_id, { after_id: id, counts, ...errors });
}

async function finish(tx: Tx, id: number): Promise<void> {
  const migration = await queries.findRunning(tx, id);
  if (!migration) return;
  await queries.updateMigration(tx, id, { status: "finished", finished_at: iso(tx.now) });
  const { from_billing_model_id, to_billing_model_id, counts } = migration;
  const { changed, failed } = counts;
  const data = { id, status: "finished", from_billing_model_id, to_billing_model_id, changed, failed };
  await recordEvents(tx, [{ type: "migration.finished", data }]);
}
