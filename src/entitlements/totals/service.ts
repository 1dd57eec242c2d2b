import type { Context } from "../../app/context.ts";
import type { KeyedWatch } from "../../app/live_limits.ts";
import { operation } from "../../app/operation.ts";
import { readTx } from "../../app/transaction.ts";
import { listZones } from "../../billing/subscriptions/queries.ts";
import { scopeOf } from "../../core/access.ts";
import { Nothing } from "../../core/schema.ts";
import { compareTotals } from "../../usage_store/compare_totals.ts";
import { watchOf } from "../checks/limit_totals.ts";
import { listRated } from "../spend_limits/rated.ts";
import { isSpendKey } from "../spend_limits/watch.ts";
import { talliedOf } from "./tallies.ts";

/**
 * Keeps totals of every limit and alert of the company from now on, and of no other: after a start before the first checks ask, and
 * as limits come and go.
 */
export const watchLimits = operation({
  name: "watch_limits",
  at_owner: true,
  permission: "entitlements:read",
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    // What a check opens meanwhile stays.
    const before = ctx.limits.watchedKeys(scopeOf(ctx.actor).company_id);
    const keys = new Set<string>();
    for await (const watches of watchesOf(ctx)) {
      if (ctx.background.is_stopping) return {};
      ctx.limits.totalsOf(watches);
      for (const { key } of watches) keys.add(key);
    }
    ctx.limits.forget(before.filter((key) => !keys.has(key) && !isSpendKey(key)));
    // Those of a company whose last spend limit was taken away are forgotten here alone.
    await listRated(ctx);
    return {};
  },
});

/** Forgets totals of past windows, and compares those of every limit with the stored events. Errors: throws where any is different. */
export const checkLimits = operation({
  name: "check_limits",
  at_owner: true,
  permission: "entitlements:read",
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const now_ms = ctx.now.epochMilliseconds;
    // Nobody asks for windows that are past, and hours would fill the memory.
    ctx.usage.running_totals.forgetBefore(ctx.now.subtract({ hours: 24 }).epochMilliseconds);
    for await (const watches of watchesOf(ctx)) {
      if (ctx.background.is_stopping) return {};
      const totals = [...new Set(ctx.limits.totalsOf(watches))];
      const { different } = await compareTotals(ctx.usage, totals, now_ms, ctx.config.usage_query_timeout_ms);
      if (different.length > 0)
        throw new Error(
          `${different.length} totals of limits are not those of the stored events, of subscription ${different[0]?.watch.subscription_id} first`,
        );
    }
    return {};
  },
});

/** The watches of all that is counted of the company's subscriptions, in batches. */
async function* watchesOf(ctx: Context): AsyncGenerator<KeyedWatch[]> {
  const { company_id } = scopeOf(ctx.actor);
  const zones = await listZones(readTx(ctx));
  for await (const page of talliedOf(ctx))
    yield page.flatMap(({ tallies }) =>
      tallies.flatMap((tally) => watchOf(company_id, zones, tally, ctx.now) ?? []),
    );
}
