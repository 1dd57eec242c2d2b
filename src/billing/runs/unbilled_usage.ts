import type { Context } from "../../app/context.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { chunks } from "../../core/chunk.ts";
import { subtract, sum } from "../../core/money.ts";
import { earlier, type IsoInstant, instant, iso, later } from "../../core/time.ts";
import { MAX_TIMESTAMP_MS, type UsageWindow } from "../../usage_store/port.ts";
import type { NewEvent } from "../../webhooks/events/model.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { LIMITS } from "../limits.ts";
import { UsageCount } from "../records/count_usage.ts";
import { type RecordedCount, listCountedPeriods, listRecorded } from "../records/queries.ts";
import { storedBy } from "../records/verify_usage.ts";
import { listBillable } from "./billable_queries.ts";
import type { UnbilledUsage } from "./model.ts";
import {
  findChecked,
  listEnded,
  listSubscriptionIds,
  type NewUnbilled,
  saveUnbilled,
  setChecked,
} from "./unbilled_queries.ts";

/** A search for unbilled usage: periods that were settled by an instant are not rechecked any more. */
interface UsageSearch {
  readonly ctx: Context;
  readonly settled_by: Temporal.Instant;
}

/**
 * Finds the stored usage that no bill counts and none will by itself: late, for periods that the recheck no longer
 * looks at, or dated after a subscription's end. New findings are written, with an event each. Late events are
 * searched by their numbers: those stored since the last search. `looked_until`: up to which number the next search
 * need not look again; null: no further than before. Returns how many findings are new. Decision 0126.
 */
export async function recordUnbilledUsage(
  ctx: Context,
  settled_by: Temporal.Instant,
  looked_until: number | null,
): Promise<number> {
  const search = { ctx, settled_by };
  const tx = readTx(ctx);
  const last_seq = await ctx.usage.lastSeq(tx.scope.company_id, ctx.config.usage_query_timeout_ms);
  const looked_through = (await findChecked(tx)) ?? 0;
  let found = 0;
  for (let after_id = 0; ; ) {
    const ids = await listSubscriptionIds(tx, { after_id, limit: LIMITS.billing_batch_periods });
    const last = ids.at(-1);
    if (last === undefined) break;
    after_id = last;
    found += await save(ctx, await findAfterEnd(search, ids, looked_through));
    const old = looked_through < last_seq ? await withOldEvents(search, ids, looked_through) : [];
    for (const batch of chunks(old, LIMITS.billing_batch_records)) {
      found += await save(ctx, await findLate(search, batch));
      await Bun.sleep(LIMITS.billing_pause_ms);
    }
  }
  if (looked_until !== null) await transaction(ctx, (write) => setChecked(write, looked_until));
  return found;
}

/** Those of the windows that hold events with a number above `after_seq`. */
async function withLateEvents<W extends UsageWindow>(
  ctx: Context,
  windows: readonly W[],
  after_seq: number,
): Promise<W[]> {
  const counted_from = { created_until_ms: Number.MAX_SAFE_INTEGER, last_seq: after_seq };
  const queries = windows.map((window) => ({ ...window, ...counted_from }));
  const { company_id } = readTx(ctx).scope;
  const has_late = await ctx.usage.haveLateEvents(company_id, queries, ctx.config.usage_query_timeout_ms);
  return windows.filter((_, i) => has_late[i]);
}

/** The subscriptions with new events in long settled time. */
async function withOldEvents(
  { ctx, settled_by }: UsageSearch,
  ids: readonly number[],
  after_seq: number,
): Promise<number[]> {
  const end_ms = settled_by.epochMilliseconds;
  const windows = ids.map((subscription_id) => ({ subscription_id, start_ms: 0, end_ms }));
  return (await withLateEvents(ctx, windows, after_seq)).map(({ subscription_id }) => subscription_id);
}

async function findAfterEnd(
  { ctx, settled_by }: UsageSearch,
  ids: readonly number[],
  after_seq: number,
): Promise<NewUnbilled[]> {
  const tx = readTx(ctx);
  const windows = (await listEnded(tx, ids)).map(({ id, ends_at }) => ({
    subscription_id: id,
    ends_at,
    start_ms: instant(ends_at).epochMilliseconds,
    end_ms: MAX_TIMESTAMP_MS + 1,
  }));
  // An end that was set lately may lie before events that an earlier search has looked at.
  const isRecent = ({ ends_at }: { ends_at: IsoInstant }) => ends_at > iso(settled_by);
  const recent = windows.filter(isRecent);
  const settled = windows.filter((window) => !isRecent(window));
  const found = [
    ...(await withLateEvents(ctx, recent, 0)),
    ...(await withLateEvents(ctx, settled, after_seq)),
  ];
  const sums = await ctx.usage.sums(tx.scope.company_id, found, ctx.config.usage_query_timeout_ms);
  return found.map(({ subscription_id, ends_at }, i) => ({
    subscription_id,
    reason: "after_end",
    from: ends_at,
    to: null,
    billing_record_id: null,
    units: sums[i]?.units ?? "0",
    event_count: sums[i]?.event_count ?? 0,
  }));
}

/** The settled periods of subscriptions that hold more events than their records count. */
async function findLate({ ctx, settled_by }: UsageSearch, ids: readonly number[]): Promise<NewUnbilled[]> {
  const tx = readTx(ctx);
  const since = ctx.usage.sinceOf(tx.scope.company_id);
  const settled = (await listCountedPeriods(tx, ids, { settled_by })).filter(
    ({ billingStartAt }) => instant(billingStartAt).epochMilliseconds >= since,
  );
  const subscriptions = await listBillable(tx, { ids, limit: ids.length });
  const life = new Map(subscriptions.map((subscription) => [subscription.id, subscription]));
  const windows = settled.map((period) => ({
    period,
    ...windowOf(period, life.get(period.subscription_id)),
  }));
  const found: NewUnbilled[] = [];
  for (const batch of chunks(windows, LIMITS.billing_batch_periods)) {
    const sums = await ctx.usage.sums(tx.scope.company_id, batch, ctx.config.usage_query_timeout_ms);
    const starts = [...new Set(batch.map(({ period }) => period.billingStartAt))];
    const records = await listRecorded(tx, ids, starts);
    const parts = Map.groupBy(records, (part) => `${part.subscription_id} ${part.billingStartAt}`);
    const looked_at = new UsageCount(new Map());
    const countOf = batch.map(({ period, ...window }) => {
      const own = parts.get(`${period.subscription_id} ${period.billingStartAt}`) ?? [];
      const lines = own.flatMap((part) => part.lines).filter(({ kind }) => kind === "usage");
      // Lines that a meter counts leave the events out that it does not take: then it is what their records looked at.
      return lines.some(({ meter_id }) => meter_id !== undefined)
        ? looked_at.ofWindow(window, storedBy(period))
        : () => ({
            units: sum(lines.map(({ quantity }) => quantity)),
            event_count: lines.reduce((all, line) => all + (line.event_count ?? 0), 0),
          });
    });
    await looked_at.ask(ctx.usage, tx.scope.company_id, ctx.config.usage_query_timeout_ms);
    for (const [i, { period }] of batch.entries()) {
      const { subscription_id, billingStartAt: from, billingEndAt: to } = period;
      const { units = "0", event_count: counted = 0 } = countOf[i]?.() ?? {};
      const event_count = (sums[i]?.event_count ?? 0) - counted;
      if (event_count <= 0) continue;
      found.push({
        subscription_id,
        reason: "late",
        from,
        to,
        billing_record_id: parts.get(`${subscription_id} ${from}`)?.[0]?.id ?? null,
        units: subtract(sums[i]?.units ?? "0", units),
        event_count,
      });
    }
  }
  return found;
}

/** The part of a period in which its subscription lived: its bill counts no other events. */
function windowOf(
  { subscription_id, billingStartAt, billingEndAt }: RecordedCount,
  life: { started_at: string; ends_at: string | null } | undefined,
): UsageWindow {
  const [from, to] = [instant(billingStartAt), instant(billingEndAt)];
  const start = life ? later(from, instant(life.started_at)) : from;
  const end = life?.ends_at ? earlier(to, instant(life.ends_at)) : to;
  return {
    subscription_id,
    start_ms: start.epochMilliseconds,
    end_ms: Math.max(start.epochMilliseconds, end.epochMilliseconds),
  };
}

/** Writes findings, with an event for each that is new; returns how many are. */
async function save(ctx: Context, found: readonly NewUnbilled[]): Promise<number> {
  let saved = 0;
  for (const batch of chunks(found, LIMITS.billing_batch_records)) {
    saved += await transaction(ctx, async (tx) => {
      const rows: UnbilledUsage[] = [];
      for (const finding of batch) {
        const row = await saveUnbilled(tx, finding);
        if (row) rows.push(row);
      }
      await recordEvents(tx, rows.map(eventOf));
      return rows.length;
    });
  }
  return saved;
}

function eventOf({ id, subscription_id, reason, from, to, ...rest }: UnbilledUsage): NewEvent {
  const { billing_record_id, units, event_count } = rest;
  const data = { id, subscription_id, reason, from, to, billing_record_id, units, event_count };
  return { type: "usage.late_unbilled", data };
}
