import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import type { Context } from "../../app/context.ts";
import { Nothing } from "../../core/schema.ts";
import { instant, iso } from "../../core/time.ts";
import { LIMITS } from "../limits.ts";
import { total } from "../rating/charges.ts";
import type { FailedPeriod, RatedPeriod } from "../runs/pipeline.ts";
import { rateRunning } from "../runs/running_charges.ts";
import { runningBillsOf } from "./list.ts";
import { ListRunningBills, RunningBills } from "./model.ts";
import * as queries from "./queries.ts";

/** Lists what running periods come to, as it was last rated, by client, product or subscription. Decision 0274. */
export const listRunningBills = operation({
  name: "list_running_bills",
  permission: "revenue:read",
  input: ListRunningBills,
  output: RunningBills,
  run: (ctx, input) => runningBillsOf(readTx(ctx), input),
});

/**
 * Rates running periods again where usage came, the subscription changed or some time has passed, the longest waiting
 * first, for as long as one run may take. Decision 0274.
 */
export const keepRunningBills = operation({
  name: "keep_running_bills",
  permission: "billing:write",
  unaudited: true,
  leaves_limits: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const until_ms = performance.now() + LIMITS.running_bills_ms;
    const { company_id } = readTx(ctx).scope;
    const seq = await ctx.usage.lastSeq(company_id, ctx.config.usage_query_timeout_ms);
    const stale = ctx.now.subtract({ minutes: LIMITS.running_bills_stale_minutes });
    await transaction(ctx, queries.deleteEnded);
    let looked_at = 0;
    do {
      const which = { seq, stale, limit: LIMITS.running_bills_batch };
      const due = await queries.listDueBills(readTx(ctx), which);
      looked_at = due.length;
      if (looked_at > 0) await keepBatch(ctx, due, seq);
      // An embedded database never yields to the event loop: here requests can run.
      await Bun.sleep(LIMITS.billing_pause_ms);
    } while (looked_at > 0 && !ctx.background.is_stopping && performance.now() < until_ms);
    return {};
  },
});

async function keepBatch(ctx: Context, due: readonly queries.DueBill[], seq: number): Promise<void> {
  const { company_id } = readTx(ctx).scope;
  const known = due.flatMap(({ id, known: bill }) => (bill === null ? [] : [{ id, ...bill }]));
  const windows = known.map(({ id, from, to, usage_until, usage_seq }) => ({
    subscription_id: id,
    start_ms: instant(from).epochMilliseconds,
    end_ms: instant(to).epochMilliseconds,
    created_until_ms: instant(usage_until).epochMilliseconds,
    last_seq: usage_seq,
  }));
  const { usage_query_timeout_ms: timeout_ms } = ctx.config;
  const late = windows.length === 0 ? [] : await ctx.usage.haveLateEvents(company_id, windows, timeout_ms);
  const quiet = new Set(known.filter((_, i) => late[i] === false).map(({ id }) => id));
  const ids = due.map(({ id }) => id).filter((id) => !quiet.has(id));
  const { done, failed } = await rateRunning(ctx, ids);
  for (const { subscription, message } of failed)
    ctx.log.error({ subscription_id: subscription.id, message }, "a running bill could not be rated");
  await transaction(ctx, async (tx) => {
    if (quiet.size > 0) await queries.confirmBills(tx, [...quiet], seq);
    const bills = [...done.map(ratedBill), ...failed.map((period) => unratedBill(period, tx.now, seq))];
    if (bills.length > 0) await queries.saveBills(tx, bills);
  });
}

function ratedBill({ subscription, period, lines, usage_until, usage_seq }: RatedPeriod): queries.KeptBill {
  const { currency } = subscription.billing_model;
  const amount = total(lines, currency);
  const bounds = { from: iso(period.from), to: iso(period.to) };
  return { subscription_id: subscription.id, currency, amount, ...bounds, usage_until, usage_seq };
}

function unratedBill(
  { subscription, period }: FailedPeriod,
  now: Temporal.Instant,
  usage_seq: number,
): queries.KeptBill {
  const { currency } = subscription.billing_model;
  const bounds = { from: iso(period.from), to: iso(period.to) };
  const known = { ...bounds, usage_until: iso(now), usage_seq };
  return { subscription_id: subscription.id, currency, amount: null, ...known };
}
