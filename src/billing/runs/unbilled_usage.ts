import type { Context } from "../../app/context.ts";
import type { Scope } from "../../core/access.ts";
import { chunks } from "../../core/chunk.ts";
import { LIMITS } from "../limits.ts";
import { subtract, sum } from "../../core/money.ts";
import { earlier, instant, iso, later } from "../../core/time.ts";
import type { NewEvent } from "../../webhooks/events/model.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { MAX_TIMESTAMP_MS, type UsageWindow } from "../../usage_store/port.ts";
import type { UnbilledUsage } from "./model.ts";
import { type RecordedCount, listCountedPeriods, listRecorded } from "../records/queries.ts";
import { listBillable } from "./billable.ts";
import {
  findChecked,
  listEnded,
  listSubscriptionIds,
  type NewUnbilled,
  saveUnbilled,
  setChecked,
} from "./unbilled_queries.ts";

/** Whose usage is looked through, and which periods the recheck has left alone: those settled by then. */
interface UsageSearch {
  readonly ctx: Context;
  readonly scope: Scope;
  readonly settled_by: Temporal.Instant;
}

/**
 * Finds the stored usage that no bill counts and none will by itself: late, for periods that the recheck looks at
 * no more, or dated after a subscription's end. What is new is written down, with an event. Late events are asked
 * for by their numbers: those stored since the last look. `looked_until`: up to which number the next look need not
 * look again; null: no further than before. Returns how many findings are new. Decision 0126.
 */
export async function recordUnbilledUsage(search: UsageSearch, looked_until: number | null): Promise<number> {
  const { ctx, scope } = search;
  const { store, usage, config } = ctx;
  const timeout_ms = config.usage_query_timeout_ms;
  const last_seq = await usage.lastSeq(scope.company_id, timeout_ms);
  const looked_through = (await findChecked({ q: store.read, scope, now: ctx.now })) ?? 0;
  let noted = 0;
  for (let after_id = 0; ; ) {
    const limit = LIMITS.billing_batch_periods;
    const ids = await listSubscriptionIds({ q: store.read, scope, now: ctx.now }, { after_id, limit });
    const last = ids.at(-1);
    if (last === undefined) break;
    after_id = last;
    noted += await save(ctx, scope, await findAfterEnd(search, ids, looked_through));
    const old = looked_through < last_seq ? await withOldEvents(search, ids, looked_through) : [];
    for (const batch of chunks(old, LIMITS.billing_batch_records)) {
      noted += await save(ctx, scope, await findLate(search, batch));
      await Bun.sleep(LIMITS.billing_pause_ms);
    }
  }
  if (looked_until !== null) await store.tx((q) => setChecked({ q, scope, now: ctx.now }, looked_until));
  return noted;
}

/** Those of the windows that hold events with a number above `after_seq`. */
async function withLateEvents<W extends UsageWindow>(
  { ctx, scope }: UsageSearch,
  windows: readonly W[],
  after_seq: number,
): Promise<W[]> {
  const counted_from = { created_until_ms: Number.MAX_SAFE_INTEGER, last_seq: after_seq };
  const queries = windows.map((window) => ({ ...window, ...counted_from }));
  const newer = await ctx.usage.haveLateEvents(scope.company_id, queries, ctx.config.usage_query_timeout_ms);
  return windows.filter((_, i) => newer[i]);
}

/** The subscriptions with new events that are dated in time long settled. */
async function withOldEvents(
  search: UsageSearch,
  ids: readonly number[],
  after_seq: number,
): Promise<number[]> {
  const end_ms = search.settled_by.epochMilliseconds;
  const windows = ids.map((subscription_id) => ({ subscription_id, start_ms: 0, end_ms }));
  return (await withLateEvents(search, windows, after_seq)).map(({ subscription_id }) => subscription_id);
}

async function findAfterEnd(
  search: UsageSearch,
  ids: readonly number[],
  after_seq: number,
): Promise<NewUnbilled[]> {
  const { ctx, scope, settled_by } = search;
  const ended = await listEnded({ q: ctx.store.read, scope, now: ctx.now }, ids);
  const windows = ended.map(({ id, ends_at }) => ({
    subscription_id: id,
    ends_at,
    start_ms: instant(ends_at).epochMilliseconds,
    end_ms: MAX_TIMESTAMP_MS + 1,
  }));
  const since = iso(settled_by);
  const found = [
    // An end that came lately may lie before events that were looked through already.
    ...(await withLateEvents(
      search,
      windows.filter(({ ends_at }) => ends_at > since),
      0,
    )),
    ...(await withLateEvents(
      search,
      windows.filter(({ ends_at }) => ends_at <= since),
      after_seq,
    )),
  ];
  const sums = await ctx.usage.sums(scope.company_id, found, ctx.config.usage_query_timeout_ms);
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
async function findLate(search: UsageSearch, ids: readonly number[]): Promise<NewUnbilled[]> {
  const { ctx, scope, settled_by } = search;
  const { read } = ctx.store;
  const settled = await listCountedPeriods({ q: read, scope, now: ctx.now }, ids, { settled_by });
  const life = new Map(
    (await listBillable({ q: read, scope, now: ctx.now }, { ids, limit: ids.length })).map((s) => [s.id, s]),
  );
  const windows = settled.map((period) => ({
    period,
    ...windowOf(period, life.get(period.subscription_id)),
  }));
  const timeout_ms = ctx.config.usage_query_timeout_ms;
  const found: NewUnbilled[] = [];
  for (const batch of chunks(windows, LIMITS.billing_batch_periods)) {
    const sums = await ctx.usage.sums(scope.company_id, batch, timeout_ms);
    const starts = [...new Set(batch.map(({ period }) => period.billingStartAt))];
    const records = await listRecorded({ q: read, scope, now: ctx.now }, ids, starts);
    for (const [i, { period }] of batch.entries()) {
      const own = records.filter(
        (part) =>
          part.subscription_id === period.subscription_id && part.billingStartAt === period.billingStartAt,
      );
      const lines = own.flatMap((part) => part.lines).filter(({ kind }) => kind === "usage");
      const event_count =
        (sums[i]?.event_count ?? 0) - lines.reduce((all, line) => all + (line.event_count ?? 0), 0);
      if (event_count <= 0) continue;
      found.push({
        subscription_id: period.subscription_id,
        reason: "late",
        from: period.billingStartAt,
        to: period.billingEndAt,
        billing_record_id: own[0]?.id ?? null,
        units: subtract(sums[i]?.units ?? "0", sum(lines.map(({ quantity }) => quantity))),
        event_count,
      });
    }
  }
  return found;
}

/** The part of a period in which its subscription lived: other events are none of its bill's. */
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

/** Writes findings down and tells of those that are new. */
async function save(ctx: Context, scope: Scope, found: readonly NewUnbilled[]): Promise<number> {
  let noted = 0;
  for (const batch of chunks(found, LIMITS.billing_batch_records)) {
    noted += await ctx.store.tx(async (q) => {
      const saved: UnbilledUsage[] = [];
      for (const one of batch) {
        const row = await saveUnbilled({ q, scope, now: ctx.now }, one);
        if (row) saved.push(row);
      }
      await recordEvents({ q, scope, now: ctx.now }, saved.map(eventOf));
      return saved.length;
    });
  }
  return noted;
}

function eventOf({ id, subscription_id, reason, from, to, ...rest }: UnbilledUsage): NewEvent {
  const { billing_record_id, units, event_count } = rest;
  const data = { id, subscription_id, reason, from, to, billing_record_id, units, event_count };
  return { type: "usage.late_unbilled", data };
}
