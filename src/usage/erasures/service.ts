import { Type } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { scopeOf } from "../../core/access.ts";
import { chunks } from "../../core/chunk.ts";
import { invalid } from "../../core/errors.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { pagedList } from "../../core/pagination.ts";
import { ById, Nothing, paged } from "../../core/schema.ts";
import { LIMITS } from "../limits.ts";
import { assertIdsInScope, filterOf } from "../search/filters.ts";
import { EraseUsage, ListUsageErasures, UsageErasure } from "./model.ts";
import { unpackIds } from "./packed_ids.ts";
import * as queries from "./queries.ts";

/**
 * Has the metadata of events erased: those that meet every condition and are stored by now. Durable when it resolves;
 * the job does it within seconds. The audit entry has no metadata. Errors: invalid without a condition, forbidden for
 * ids outside of the company. Decision 0206.
 */
export const eraseUsage = operation({
  name: "erase_usage",
  permission: "usage:erase",
  target: "usage_erasure",
  withholds: ["metadata"],
  input: EraseUsage,
  output: UsageErasure,
  async run(ctx, { ids, ...input }) {
    const { metadata, start_time, end_time } = input;
    const has_subscriptions = (input.subscription_ids ?? input.external_subscription_ids) !== undefined;
    const has_pairs = Object.keys(metadata ?? {}).length > 0;
    const has_time = (start_time ?? end_time) !== undefined;
    if (!has_subscriptions && !has_pairs && !has_time && ids === undefined)
      throw invalid(
        "",
        "must have at least one of subscription_ids, external_subscription_ids, metadata, ids, start_time, end_time",
      );
    await assertIdsInScope(ctx, input);
    const { subscription_ids, start_ms, end_ms } = await filterOf(ctx, input, []);
    const conditions = {
      subscription_ids,
      start_ms,
      end_ms,
      metadata: has_pairs ? metadata : undefined,
      ids: ids?.map((id) => id.toLowerCase()),
    };
    return transaction(ctx, (tx) => queries.insertUsageErasure(tx, conditions));
  },
});

/** Lists the company's erasures, newest first. */
export const listUsageErasures = operation({
  name: "list_usage_erasures",
  permission: "usage:erase",
  unaudited: true,
  input: ListUsageErasures,
  output: paged(UsageErasure),
  run: (ctx, { page, limit, ...order }) =>
    pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, (slice) =>
      queries.listUsageErasures(readTx(ctx), order, slice),
    ),
});

/**
 * Carries out the company's erasures, each from where a killed process left it; after a restore all of them again. What
 * its meters read stays: bills are of it. Decision 0238.
 */
export const carryOutErasures = operation({
  name: "carry_out_erasures",
  permission: "usage:erase",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    while (!ctx.background.is_stopping) {
      const erasure = await queries.findPendingErasure(readTx(ctx));
      if (erasure === undefined || !(await carryOut(ctx, erasure))) break;
    }
    return {};
  },
});

/** Returns whether it is done: false when the process is about to end. */
async function carryOut(ctx: Context, erasure: queries.PendingErasure): Promise<boolean> {
  const { id, conditions, last_seq } = erasure;
  const keep = erasure.kept_keys ?? [];
  if (conditions === null) return repeat(ctx, id, keep);
  const { company_id } = scopeOf(ctx.actor);
  const { usage } = ctx;
  const until = last_seq ?? (await usage.lastSeq(company_id, LIMITS.usage_check_ms));
  if (last_seq === null) await transaction(ctx, (tx) => queries.beginErasure(tx, id, until));
  const last = await queries.findLastErasedIds(readTx(ctx), id);
  if (last !== undefined) await usage.erase(company_id, unpackIds(last), keep);
  while (!ctx.background.is_stopping) {
    const query = { company_id, ...conditions, last_seq: until, keep };
    const found = await usage.findUnerased(query, LIMITS.usage_erasure_found, LIMITS.usage_check_ms);
    if (found.length === 0) {
      await transaction(ctx, (tx) => queries.finishErasure(tx, id));
      return true;
    }
    for (const ids of chunks(found, LIMITS.usage_erasure_events)) {
      if (ctx.background.is_stopping) return false;
      // Before the metadata goes: a restored store erases by them.
      await transaction(ctx, (tx) => queries.insertErasedIds(tx, id, ids));
      await usage.erase(company_id, ids, keep);
    }
  }
  return false;
}

/** Rows of erased ids that are read at once. */
const ROWS = 10;

/** Erases again by the ids on record, as after a restore. Returns whether it is done. */
async function repeat(ctx: Context, erasure_id: number, keep: readonly string[]): Promise<boolean> {
  const { company_id } = scopeOf(ctx.actor);
  let after_id = 0;
  while (!ctx.background.is_stopping) {
    const rows = await queries.listErasedIds(readTx(ctx), { erasure_id, after_id }, ROWS);
    for (const { id, ids } of rows) {
      await ctx.usage.erase(company_id, unpackIds(ids), keep);
      after_id = id;
    }
    if (rows.length === ROWS) continue;
    await transaction(ctx, (tx) => queries.finishErasure(tx, erasure_id));
    return true;
  }
  return false;
}

/** Some of the company's erased ids that are not beside the backups yet. */
export const listUnshippedIds = operation({
  name: "list_unshipped_ids",
  permission: "usage:erase",
  unaudited: true,
  input: Nothing,
  output: Type.Object({ rows: Type.Array(Type.Unsafe<queries.ErasedIds>(Type.Any())) }),
  run: async (ctx) => ({ rows: await queries.listErasedIds(readTx(ctx), { is_shipped: false }, ROWS) }),
});

/** Records that a row of erased ids is beside the backups. */
export const markIdsShipped = operation({
  name: "mark_ids_shipped",
  permission: "usage:erase",
  unaudited: true,
  input: ById,
  output: Nothing,
  async run(ctx, { id }) {
    await transaction(ctx, (tx) => queries.markShipped(tx, id));
    return {};
  },
});
