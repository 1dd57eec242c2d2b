import type { Context } from "../../app/context.ts";
import type { Spent } from "../../app/live_limits.ts";
import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { chargesAt, runningCharges } from "../../billing/runs/running_charges.ts";
import { findSubscription } from "../../billing/subscriptions/queries.ts";
import { scopeOf } from "../../core/access.ts";
import { chunks } from "../../core/chunk.ts";
import { invalid, notFound, orNotFound } from "../../core/errors.ts";
import { compare, readDecimal } from "../../core/money.ts";
import { ById, Nothing } from "../../core/schema.ts";
import { iso } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import { listAllAlerts } from "../alerts/queries.ts";
import { LIMITS } from "../limits.ts";
import { SetSpendLimit, SpendLimit } from "./model.ts";
import * as queries from "./queries.ts";
import { listRated } from "./rated.ts";

/** Finds a subscription's spend limits, with what it has come to. Errors: not_found. */
export const getSpendLimit = operation({
  name: "get_spend_limit",
  at_owner: true,
  permission: "entitlements:read",
  input: ById,
  output: SpendLimit,
  run: (ctx, { id }) => shown(ctx, readTx(ctx), id),
});

/**
 * Sets a subscription's spend limit: the company's, or for a client user its own, which is at most the company's. Errors:
 * not_found, invalid.
 */
export const setSpendLimit = operation({
  name: "set_spend_limit",
  at_owner: true,
  permission: "spend_limits:write",
  target: "subscription",
  input: SetSpendLimit,
  output: SpendLimit,
  async run(ctx, { id, amount: given, hard = true }) {
    const saved = await transaction(ctx, async (tx) => {
      await currencyOf(tx, id);
      const amount = readDecimal(given, "/amount");
      if (compare(amount, "0") < 0) throw invalid("/amount", "must be 0 or more");
      const set_by = setterOf(tx);
      const before = await queries.listSpendLimits(tx, id);
      // It was rated until the limit before was taken away, or is for an alert.
      if (before.length === 0) spendingOf(ctx).doubt(id, ctx.now.epochMilliseconds);
      const company = before.find((limit) => limit.set_by === "company");
      if (set_by === "client" && company !== undefined && compare(amount, company.amount) > 0)
        throw invalid("/amount", `must be at most ${company.amount}, the limit that was set for you`);
      await queries.saveSpendLimit(tx, id, { set_by, amount, hard });
      return shown(ctx, tx, id);
    });
    // It may be reached already.
    ctx.limits.changes.note(scopeOf(ctx.actor).company_id, id);
    return saved;
  },
});

/** Takes a spend limit away, of the company or for a client user its own. Errors: not_found. */
export const removeSpendLimit = operation({
  name: "remove_spend_limit",
  permission: "spend_limits:write",
  target: "subscription",
  uses_reserve: true,
  input: ById,
  output: Nothing,
  run: (ctx, { id }) =>
    transaction(ctx, async (tx) => {
      await currencyOf(tx, id);
      if (!(await queries.deleteSpendLimit(tx, id, setterOf(tx)))) throw notFound("Spend limit", id);
      return {};
    }),
});

/**
 * Rates the running charges of subscriptions with a spend limit again, where usage came or some time has passed, the
 * longest waiting first. Decision 0252.
 */
export const rateSpending = operation({
  name: "rate_spending",
  at_owner: true,
  permission: "entitlements:read",
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const { limits, now, background } = ctx;
    const { company_id } = readTx(ctx).scope;
    const spending = spendingOf(ctx);
    const now_ms = now.epochMilliseconds;
    if (!spending.isListed(now_ms)) await listRated(ctx);
    const until_ms = performance.now() + LIMITS.spend_rate_ms;
    for (const batch of chunks(spending.due(now_ms), LIMITS.spend_batch)) {
      if (background.is_stopping || performance.now() >= until_ms) return {};
      // What comes from here on is rated the next time.
      const rating = spending.begin(batch, now_ms);
      try {
        for (const { subscription_id, ...spent } of await rateSpent(ctx, batch)) {
          spending.put(subscription_id, spent, rating);
          limits.changes.note(company_id, subscription_id);
        }
      } catch (error) {
        // What was rated before would stand for minutes.
        for (const id of batch) spending.note(id);
        throw error;
      }
    }
    return {};
  },
});

/** What subscriptions have come to; in the first hour of a period also what the one before came to. */
async function rateSpent(
  ctx: Context,
  ids: readonly number[],
): Promise<(Spent & { readonly subscription_id: number })[]> {
  const now_ms = ctx.now.epochMilliseconds;
  const running = await runningCharges(ctx, ids, {
    projected: (await listAllAlerts(readTx(ctx))).some(({ on }) => on === "forecast"),
  });
  const late = running.filter(({ from_ms }) => from_ms <= now_ms && now_ms - from_ms < LIMITS.alert_late_ms);
  const before = new Map<number, Spent["before"]>();
  for (const [from_ms, begun] of Map.groupBy(late, (one) => one.from_ms)) {
    const then = Temporal.Instant.fromEpochMilliseconds(from_ms - 1);
    const begun_ids = begun.map(({ subscription_id }) => subscription_id);
    // A subscription that begins now has no period before.
    for (const { subscription_id, ...past } of await chargesAt(ctx, begun_ids, then))
      if (past.until_ms <= from_ms) before.set(subscription_id, past);
  }
  return running.map(({ projected, ...one }) => ({
    ...one,
    // A moment says nothing of a month.
    projected: now_ms - one.from_ms < LIMITS.forecast_after_ms ? null : projected,
    as_of_ms: now_ms,
    before: before.get(one.subscription_id) ?? null,
  }));
}

function setterOf({ scope }: ReadTx): queries.StoredSpendLimit["set_by"] {
  return scope.client_id === undefined ? "company" : "client";
}

function spendingOf({ limits, actor }: Context) {
  return limits.spendingOf(scopeOf(actor).company_id);
}

async function currencyOf(tx: ReadTx, id: number): Promise<string> {
  return orNotFound(await findSubscription(tx, id), "Subscription", id).billing_model.currency;
}

async function shown(ctx: Context, tx: ReadTx, id: number): Promise<SpendLimit> {
  const currency = await currencyOf(tx, id);
  const rows = await queries.listSpendLimits(tx, id);
  const of = (setter: queries.StoredSpendLimit["set_by"]) => {
    const found = rows.find(({ set_by }) => set_by === setter);
    return found === undefined ? null : { amount: found.amount, hard: found.hard };
  };
  const spent = rows.length === 0 ? undefined : spendingOf(ctx).at(id, ctx.now.epochMilliseconds);
  return {
    subscription_id: id,
    currency,
    company: of("company"),
    client: of("client"),
    spent: spent?.amount ?? null,
    as_of: spent === undefined ? null : iso(Temporal.Instant.fromEpochMilliseconds(spent.as_of_ms)),
  };
}
