import type { Context } from "../../app/context.ts";
import type { Hold } from "../../app/live_limits.ts";
import { call, operation } from "../../app/operation.ts";
import { transaction } from "../../app/transaction.ts";
import { Nothing } from "../../core/schema.ts";
import { scopeOf } from "../../core/access.ts";
import { AppError, notFound } from "../../core/errors.ts";
import { sum } from "../../core/money.ts";
import { iso } from "../../core/time.ts";
import type { Tx } from "../../store/store.ts";
import { LIMITS } from "../limits.ts";
import { deleteReservations, insertReservation, listEnded } from "../reservations/queries.ts";
import { answer, type Question, readQuestion, toAnswer } from "./check.ts";
import { CheckedUsage, CheckUsage, FreeReservation } from "./model.ts";
import { isUnchanged } from "./queries.ts";

/**
 * Whether a subscription may use so much more of a feature, by all usage answered before. With `reserve_s` what is allowed
 * is held, by those who may send usage. Errors: invalid, forbidden. See docs/limits.md.
 */
export const checkUsage = operation({
  name: "check_usage",
  at_owner: true,
  permission: "entitlements:read",
  input: CheckUsage,
  output: CheckedUsage,
  async run(ctx, input) {
    if (input.reserve_s !== undefined) return call(ctx, reserveUsage, input);
    return answer(ctx, await readQuestion(ctx, input), (decision) => toAnswer(decision));
  },
});

/** Checks and holds in one step: of many at once no more pass than fit. The hold is durable before its answer. */
export const reserveUsage = operation({
  name: "reserve_usage",
  at_owner: "only",
  permission: "usage:write",
  unaudited: true,
  input: CheckUsage,
  output: CheckedUsage,
  async run(ctx, input) {
    for (let tries = 1; tries <= TRIES; tries++) {
      const reserved = await reserve(ctx, input);
      if (reserved !== null) return reserved;
    }
    throw new AppError("unavailable", "Cannot reserve: the feature or its meter changes all the time", {
      retry_after_s: 1,
    });
  },
});

/** How often a feature or its meter may change between a decision and its reservation. */
const TRIES = 5;

/** Null: the feature or its meter was changed meanwhile, so that the units may be of another thing. */
async function reserve(ctx: Context, input: CheckUsage): Promise<CheckedUsage | null> {
  const { company_id } = scopeOf(ctx.actor);
  const question = await readQuestion(ctx, input);
  if (ctx.limits.count(company_id) >= LIMITS.reservations)
    throw new AppError("rate_limited", `Cannot reserve: there are ${LIMITS.reservations} reservations`, {
      retry_after_s: 1,
    });
  const expires = ctx.now.add({ seconds: input.reserve_s ?? 0 });
  const { subscription, feature, units, group } = question;
  const hold = {
    company_id,
    reservation_id: Bun.randomUUIDv7(),
    subscription_id: subscription.id,
    feature_id: feature.id,
    units,
    group,
    expires_ms: expires.epochMilliseconds,
  };
  const decision = await answer(ctx, question, (decided) => {
    if (decided.allowed) ctx.limits.add(hold);
    return decided;
  });
  if (!decision.allowed) return toAnswer(decision);
  let is_held = false;
  try {
    is_held = await transaction(ctx, (tx) => insertUnchanged(tx, hold, question));
  } finally {
    if (!is_held) ctx.limits.remove(company_id, hold.reservation_id);
  }
  if (!is_held) return null;
  // Who took over before the row was there has let others through to what it holds: it is nobody's, and ends by its time.
  const is_known =
    (await ctx.limits.decides(company_id)) && ctx.limits.find(company_id, hold.reservation_id) !== undefined;
  if (!is_known) {
    ctx.limits.remove(company_id, hold.reservation_id);
    throw movedError();
  }
  const { shown } = decision;
  const held = shown && { ...shown, reserved: sum([shown.reserved, units]) };
  return toAnswer({ ...decision, shown: held }, { id: hold.reservation_id, units, expires_at: iso(expires) });
}

/**
 * Inserts a reservation if its feature counts what it did when that was decided. A change of the feature looks for
 * reservations in its own transaction: of the two, one sees the other. Returns whether it did.
 */
export async function insertUnchanged(
  tx: Tx,
  hold: Hold,
  asked: Pick<Question, "feature" | "meter">,
): Promise<boolean> {
  if (!(await isUnchanged(tx, asked))) return false;
  await insertReservation(tx, hold);
  return true;
}

function movedError(): AppError {
  const message =
    "Cannot say what is reserved: another instance is taking over the company's usage; ask again";
  return new AppError("unavailable", message, { retry_after_s: 1 });
}

/** Frees what a reservation holds. Errors: not_found where there is none: it was settled, has ended, or never was. */
export const freeReservation = operation({
  name: "free_reservation",
  at_owner: "only",
  permission: "usage:write",
  unaudited: true,
  uses_reserve: true,
  input: FreeReservation,
  output: Nothing,
  async run(ctx, { id }) {
    const { company_id } = scopeOf(ctx.actor);
    const reservation_id = id.toLowerCase();
    const hold = ctx.limits.find(company_id, reservation_id);
    const is_held = hold !== undefined && hold.expires_ms > ctx.now.epochMilliseconds;
    if (is_held) {
      await transaction(ctx, ({ q }) => deleteReservations(q, company_id, [reservation_id]));
      ctx.limits.remove(company_id, reservation_id);
    }
    // Who took over meanwhile may hold it: to be asked again.
    if (!(await ctx.limits.decides(company_id))) throw movedError();
    if (!is_held) throw notFound("Reservation", id);
    return {};
  },
});

/** Deletes reservations that have ended. */
export const endReservations = operation({
  name: "end_reservations",
  at_owner: "only",
  permission: "usage:write",
  unaudited: true,
  uses_reserve: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const { company_id } = scopeOf(ctx.actor);
    for (
      let ended: number = LIMITS.ended_batch;
      ended === LIMITS.ended_batch && !ctx.background.is_stopping;
    ) {
      const ids = await transaction(ctx, async (tx) =>
        deleteReservations(tx.q, company_id, await listEnded(tx, LIMITS.ended_batch)),
      );
      ended = ids.length;
    }
    ctx.limits.removeEnded(company_id, ctx.now.epochMilliseconds);
    return {};
  },
});
