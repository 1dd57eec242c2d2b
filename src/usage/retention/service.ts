import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { findLevelStart } from "../../billing/proof/level_queries.ts";
import { findUnbilled } from "../../billing/proof/find_unbilled.ts";
import { findUnproved } from "../../billing/proof/find_unproved.ts";
import { listBillPage } from "../../billing/proof/queries.ts";
import { scopeOf } from "../../core/access.ts";
import { Nothing } from "../../core/schema.ts";
import { instant, iso } from "../../core/time.ts";
import { findCompany } from "../../tenancy/companies/queries.ts";
import { LIMITS } from "../limits.ts";
import { findRetention, insertRetention, type Retention, noteHold, updateRetention } from "./queries.ts";
import { hourOf, sinceAt } from "./rules.ts";

/**
 * Removes the company's events that are older than USAGE_RETENTION_MONTHS, once every bill of a period that began then is
 * proved and that is recorded; their sums by hour stay, and so do events that levels are made of. It goes on where a
 * killed process left it. Errors: throws, and
 * removes nothing, where a bill is not proved or missing. Decision 0216.
 */
export const applyUsageRetention = operation({
  name: "apply_usage_retention",
  permission: "usage:erase",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const { usage_retention_months: months } = ctx.config;
    const company = months === null ? undefined : await findCompany(readTx(ctx));
    if (months === null || company === undefined) return {};
    const { since_ms, held } = await lineOf(ctx, sinceAt(ctx.now, company.timezone, months));
    // A longer retention brings nothing back.
    if (since_ms < ctx.usage.sinceOf(company.id)) {
      await transaction(ctx, (tx) => noteHold(tx, held));
      return {};
    }
    const retention =
      (await findRetention(readTx(ctx), since_ms)) ??
      (await transaction(ctx, (tx) => insertRetention(tx, since_ms)));
    // A restored store may be open where the record says that it was closed: its bills are proved anew.
    const is_closed = since_ms === ctx.usage.sinceOf(company.id);
    if (is_closed && retention.status === "done") return {};
    if (is_closed || (await prove(ctx, retention, since_ms)))
      await remove(ctx, retention, { since_ms, held });
    return {};
  },
});

/** Up to where usage goes, and in words why no further. */
interface Line {
  since_ms: number;
  held: string | null;
}

/** Levels need the events from the start of their subscriptions on: the line stays before it. Decision 0239. */
async function lineOf(ctx: Context, since_ms: number): Promise<Line> {
  const level = await findLevelStart(readTx(ctx), iso(Temporal.Instant.fromEpochMilliseconds(since_ms)));
  if (level === undefined) return { since_ms, held: null };
  const { subscription_id, started_at } = level;
  return {
    since_ms: hourOf(instant(started_at).epochMilliseconds),
    held: `subscription ${subscription_id} is billed by a level since ${started_at}: usage from then on stays`,
  };
}

/** Proves the bills, page by page. Returns false when the process is about to end. */
async function prove(ctx: Context, { id, ...before }: Retention, since_ms: number): Promise<boolean> {
  const { company_id } = scopeOf(ctx.actor);
  const line = Temporal.Instant.fromEpochMilliseconds(since_ms);
  // What was proved before its events were removed is not proved again.
  const begun_from = iso(Temporal.Instant.fromEpochMilliseconds(ctx.usage.sinceOf(company_id)));
  const filter = { company_id, begun_from, begun_before: iso(line) };
  const missing = await findUnbilled(ctx, line);
  if (missing !== undefined) return stop(ctx, id, missing);
  const is_resumed = before.status === "proving";
  let { bills, last_bill_id } = is_resumed ? before : { bills: 0, last_bill_id: 0 };
  while (!ctx.background.is_stopping) {
    const page = { after_id: last_bill_id, limit: LIMITS.usage_retention_bills };
    const keys = await listBillPage(ctx.store.read, filter, page);
    const [wrong] = await findUnproved(ctx, keys);
    if (wrong) {
      const [first] = wrong.differences;
      const what = `${first?.path} should be ${first?.expected}, is ${first?.actual}`;
      return stop(ctx, id, `bill ${wrong.billing_record_id} is not proved: ${what}`);
    }
    bills += keys.length;
    last_bill_id = keys.at(-1)?.id ?? last_bill_id;
    const is_last = keys.length < page.limit;
    const state = is_last
      ? { status: "removing" as const, proved_at: iso(ctx.now) }
      : { status: "proving" as const };
    const progress = { bills, last_bill_id, problem: null, ...state };
    await transaction(ctx, (tx) => updateRetention(tx, id, progress));
    if (is_last) return true;
  }
  return false;
}

/** Records why nothing is removed. Errors: always. */
async function stop(ctx: Context, id: number, problem: string): Promise<never> {
  await transaction(ctx, (tx) => updateRetention(tx, id, { status: "stopped", problem }));
  throw new Error(`Cannot remove old usage: ${problem}`);
}

async function remove(
  ctx: Context,
  { id, removed_events }: Retention,
  { since_ms, held }: Line,
): Promise<void> {
  const { company_id } = scopeOf(ctx.actor);
  await ctx.usage.closeBefore(company_id, since_ms);
  for (let all = removed_events; !ctx.background.is_stopping; ) {
    const removed = await ctx.usage.removeClosed(company_id, LIMITS.usage_removal_events);
    all += removed;
    const state = removed === 0 ? { status: "done" as const, problem: held } : {};
    await transaction(ctx, (tx) => updateRetention(tx, id, { removed_events: all, ...state }));
    if (removed === 0) return;
  }
}
