import type { Context } from "../../app/context.ts";
import { NEXT_PERIOD } from "../billing_model_changes/model.ts";
import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { AppError, invalid, orNotFound } from "../../core/errors.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { pagedList } from "../../core/pagination.ts";
import { ById, Nothing, paged } from "../../core/schema.ts";
import { instant, iso } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import { findTimeline } from "../billing_model_changes/change_timeline.ts";
import { findBillingModel } from "../billing_models/queries.ts";
import { checkPurpose } from "../billing_models/rules.ts";
import { LIMITS } from "../limits.ts";
import { existingSubscriptions } from "../runs/billable_queries.ts";
import { carryOnAll, type Move, planMove } from "./carry_on.ts";
import {
  BegunMigration,
  BillingModelMigration,
  BillingModelMigrationDetail,
  CreateBillingModelMigration,
  ListBillingModelMigrations,
  type MigrationError,
} from "./model.ts";
import * as queries from "./queries.ts";

/**
 * Begins to move subscriptions from one billing model to another, those that are named or all that are on it now, by
 * one change of each; a dry run only looks which could be. Durable when it resolves; the job does it within seconds.
 * Errors: invalid for models that are not there, in two currencies or the same, for one of purpose cost, or for a
 * subscription that is not the company's. Decision 0246.
 */
export const createBillingModelMigration = operation({
  name: "create_billing_model_migration",
  permission: "subscriptions:write",
  input: CreateBillingModelMigration,
  output: BegunMigration,
  async run(ctx, { subscription_ids = null, at, dry_run = false, ...models }) {
    const { actor, now } = ctx;
    const requested_by = actor.kind === "user" ? actor.user_id : null;
    const selection = { ...models, subscription_ids, after_id: 0, last_id: Number.MAX_SAFE_INTEGER };
    const begun = { ...models, at: readAt(at, now), requested_by };
    const prepare = async (tx: ReadTx) => {
      await checkModels(tx, models);
      if (subscription_ids) await checkSubscriptions(tx, subscription_ids);
      const { subscriptions, last_id } = await queries.measureSelection(tx, selection);
      return { ...selection, last_id, counts: { subscriptions, changed: 0, failed: 0 } };
    };
    if (dry_run) {
      const move = { ...begun, created_at: iso(now) };
      return { ...(await tryOut(ctx, move, await prepare(readTx(ctx)))), dry_run };
    }
    const migration = await transaction(ctx, async (tx) =>
      queries.insertMigration(tx, { ...(await prepare(tx)), ...begun }),
    );
    return { ...migration, dry_run };
  },
});

/** Lists migrations without their errors, newest first. */
export const listBillingModelMigrations = operation({
  name: "list_billing_model_migrations",
  permission: "subscriptions:read",
  input: ListBillingModelMigrations,
  output: paged(BillingModelMigration),
  run: (ctx, { page, limit, ...order }) =>
    pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, (slice) =>
      queries.listMigrations(readTx(ctx), order, slice),
    ),
});

/** Finds one migration with its errors. Errors: not_found. */
export const getBillingModelMigration = operation({
  name: "get_billing_model_migration",
  permission: "subscriptions:read",
  input: ById,
  output: BillingModelMigrationDetail,
  run: async (ctx, { id }) =>
    orNotFound(await queries.findMigration(readTx(ctx), id), "Billing model migration", id),
});

/** Carries on the company's migrations, each from where a killed process left it. May run twice at once. */
export const carryOutMigrations = operation({
  name: "carry_out_migrations",
  permission: "subscriptions:write",
  waits_for_clock: true,
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    await carryOnAll(ctx);
    return {};
  },
});

/** Errors: invalid. */
function readAt(at: string, now: Temporal.Instant): string {
  if (at === NEXT_PERIOD) return at;
  const latest = now.toZonedDateTimeISO("UTC").add({ years: LIMITS.change_years_ahead }).toInstant();
  if (Temporal.Instant.compare(instant(at), latest) > 0) {
    throw invalid("/at", `must be at most ${LIMITS.change_years_ahead} years from now`);
  }
  return iso(instant(at));
}

/** Errors: invalid. */
async function checkModels(
  tx: ReadTx,
  ids: { from_billing_model_id: number; to_billing_model_id: number },
): Promise<void> {
  const from = await findBillingModel(tx, ids.from_billing_model_id);
  if (!from) throw invalid("/from_billing_model_id", "names no active billing model of this company");
  const to = await findBillingModel(tx, ids.to_billing_model_id);
  if (!to) throw invalid("/to_billing_model_id", "names no active billing model of this company");
  checkPurpose("/to_billing_model_id", to.purpose);
  if (to.id === from.id) throw invalid("/to_billing_model_id", "must be another than from_billing_model_id");
  if (to.currency !== from.currency) {
    throw invalid("/to_billing_model_id", `must be in the currency of the other, ${from.currency}`);
  }
}

/** Errors: invalid for the first id that is no subscription of the company. */
async function checkSubscriptions(tx: ReadTx, ids: readonly number[]): Promise<void> {
  const existing = await existingSubscriptions(tx, ids);
  const unknown = ids.findIndex((id) => !existing.has(id));
  if (unknown >= 0) throw invalid(`/subscription_ids/${unknown}`, "names no subscription of this company");
}

/** What a migration would do, by what is known now. */
async function tryOut(
  ctx: Context,
  move: Move,
  { counts: all, ...selection }: queries.Selection & { counts: BillingModelMigration["counts"] },
) {
  const tx = readTx(ctx);
  const errors: MigrationError[] = [];
  const counts = { ...all };
  for (let after_id = 0; ; ) {
    const ids = await queries.listToMove(tx, { ...selection, after_id }, LIMITS.migration_batch);
    const last = ids.at(-1);
    if (last === undefined) break;
    for (const id of ids) {
      const message = await refusal(tx, id, move);
      if (message === null) counts.changed += 1;
      else counts.failed += 1;
      if (message !== null && errors.length < LIMITS.migration_errors) {
        errors.push({ subscription_id: id, message });
      }
    }
    after_id = last;
    // An embedded database never yields to the event loop: here requests can run.
    await Bun.sleep(0);
  }
  const { company_id } = tx.scope;
  const [at, done] = [iso(ctx.now), { status: "finished" as const, finished_at: iso(ctx.now) }];
  return { ...move, ...done, company_id, counts, errors, created_at: at, updated_at: at };
}

/** Why a subscription could not be moved; null where it could. */
async function refusal(tx: ReadTx, id: number, move: Move): Promise<string | null> {
  try {
    await planMove(tx, await findTimeline(tx, id), move);
    return null;
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
}
