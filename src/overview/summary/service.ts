import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { readTx } from "../../app/transaction.ts";
import { listBilled, listGroupNames } from "../../billing/revenue/queries.ts";
import { revenueOf, usualRange } from "../../billing/revenue/report.ts";
import { sumGroups } from "../../billing/revenue/sums.ts";
import { runningBillsOf } from "../../billing/running_bills/list.ts";
import { may, type Permission } from "../../core/access.ts";
import { periodContaining, type ZoneTimeline } from "../../core/periods.ts";
import { Nothing } from "../../core/schema.ts";
import { iso } from "../../core/time.ts";
import { currentZone } from "../../core/windows.ts";
import { listZones } from "../../tenancy/companies/queries.ts";
import { LIMITS } from "../limits.ts";
import { Overview } from "./model.ts";
import * as queries from "./queries.ts";

/**
 * Says how the company does: usage of today, what was billed, what runs, debits, and what comes. What the caller may not
 * read is null. Errors: unavailable. Decision 0284.
 */
export const getOverview = operation({
  name: "get_overview",
  permission: "company:read",
  input: Nothing,
  output: Overview,
  async run(ctx) {
    const zones = await listZones(readTx(ctx));
    const part = async <T>(permission: Permission, read: () => Promise<T>): Promise<T | null> =>
      may(ctx.actor, permission) ? read() : null;
    const [today, revenue, running_bills, top_clients, debits, coming] = await Promise.all([
      part("usage:read", () => usageOfToday(ctx, zones)),
      part("revenue:read", () => revenueOf(readTx(ctx), { group_by: "product" })),
      part("revenue:read", () => runningBillsOf(readTx(ctx), { limit: LIMITS.top_clients })),
      part("revenue:read", () => topClients(ctx)),
      part("emandate:read", () => debitsOfMonth(ctx, zones)),
      part("subscriptions:read", () => comingSoon(ctx, zones)),
    ]);
    return { as_of: iso(ctx.now), today, revenue, running_bills, top_clients, debits, coming };
  },
});

async function usageOfToday(ctx: Context, zones: ZoneTimeline) {
  const now = ctx.now.toZonedDateTimeISO(currentZone(zones));
  const start = now.startOfDay();
  const week_ago = now.subtract({ weeks: 1 });
  const [so_far, same_weekday, same_weekday_whole] = await Promise.all([
    sumUsage(ctx, { from: start.toInstant(), to: ctx.now.add({ milliseconds: 1 }) }),
    sumUsage(ctx, { from: week_ago.startOfDay().toInstant(), to: week_ago.toInstant() }),
    sumUsage(ctx, {
      from: week_ago.startOfDay().toInstant(),
      to: week_ago.add({ days: 1 }).startOfDay().toInstant(),
    }),
  ]);
  return { so_far, same_weekday, same_weekday_whole };
}

async function sumUsage(ctx: Context, { from, to }: queries.Span) {
  const { company_id } = readTx(ctx).scope;
  const bounds = { start_ms: from.epochMilliseconds, end_ms: to.epochMilliseconds };
  const question = {
    company_id,
    ...bounds,
    group_by: [],
    time_zone: "UTC",
    max_groups: 1,
    max_key_length: 1,
  };
  const [total] = await ctx.usage.aggregate(question, ctx.config.usage_query_timeout_ms);
  return {
    from: iso(from),
    to: iso(to),
    units: Number(total?.total_usage ?? 0),
    events: total?.event_count ?? 0,
  };
}

/** The clients of which most was billed in the months of the revenue, for each currency. */
async function topClients(ctx: Context) {
  const tx = readTx(ctx);
  const groups = sumGroups(await listBilled(tx, await usualRange(tx), "client"));
  const top = [...Map.groupBy(groups, ({ currency }) => currency).values()].flatMap((of_currency) =>
    of_currency.slice(0, LIMITS.top_clients),
  );
  const ids = top.map(({ key }) => Number(key));
  const names = await listGroupNames(tx, "client", ids);
  return top.map(({ key, currency, amount }) => {
    const id = Number(key);
    return { id, name: names.get(id) ?? "", currency, amount };
  });
}

async function debitsOfMonth(ctx: Context, zones: ZoneTimeline) {
  const tx = readTx(ctx);
  const { from, to } = periodContaining(ctx.now, 1, zones);
  const [paid, failed] = await Promise.all([
    queries.sumPaid(tx, { from, to }),
    queries.sumFailed(tx, { from, to }),
  ]);
  return { from: iso(from), to: iso(to), paid, failed };
}

async function comingSoon(ctx: Context, zones: ZoneTimeline) {
  const tx = readTx(ctx);
  const until = ctx.now.add({ hours: 24 * LIMITS.coming_days });
  const [anchors, subscriptions_ending, plan_changes, collections] = await Promise.all([
    queries.countByAnchor(tx),
    queries.countEnding(tx, until),
    queries.countChanges(tx, until),
    may(ctx.actor, "emandate:read") ? queries.sumCollections(tx, until) : null,
  ]);
  const closing = anchors.filter(
    ({ anchor_day }) => Temporal.Instant.compare(periodContaining(ctx.now, anchor_day, zones).to, until) < 0,
  );
  return {
    until: iso(until),
    periods_closing: closing.reduce((all, { count }) => all + count, 0),
    subscriptions_ending,
    plan_changes,
    collections,
  };
}
