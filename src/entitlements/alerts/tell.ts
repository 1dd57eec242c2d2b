import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import type { WatchedTotals } from "../../usage_store/running_totals.ts";
import { listZones } from "../../billing/subscriptions/queries.ts";
import { scopeOf } from "../../core/access.ts";
import { chunks, nextTurn } from "../../core/chunk.ts";
import { Nothing } from "../../core/schema.ts";
import type { ZoneTimeline } from "../../core/periods.ts";
import { iso } from "../../core/time.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { watchOf } from "../checks/limit_totals.ts";
import { LIMITS } from "../limits.ts";
import { type Tally, type TalliedSubscription, talliedOf } from "../totals/tallies.ts";
import type { Headrooms } from "../../app/live_limits.ts";
import { insertFirings } from "./firing_queries.ts";
import { headroomOf } from "./headroom.ts";
import {
  eventOf,
  type Held,
  heldSpending,
  heldTally,
  type NewlyReached,
  newlyReached,
  type Reached,
} from "./reached.ts";

/**
 * Tells of thresholds and limits that are reached, each once a window: of subscriptions that have changed since, and of all
 * in turns, at a start, after alerts changed, and every few minutes. Decision 0256.
 */
export const tellAlerts = operation({
  name: "tell_alerts",
  at_owner: true,
  permission: "entitlements:read",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const { company_id } = scopeOf(ctx.actor);
    // What is reached still is told on the next day.
    if (ctx.limits.changes.leftToTell(company_id, ctx.now.epochMilliseconds) <= 0) return {};
    const until_ms = performance.now() + LIMITS.alert_look_ms;
    await lookAtChanged(ctx, company_id, until_ms);
    // What has changed may take all of the time, and others wait for their turn, too.
    await lookAtAll(ctx, company_id, Math.max(until_ms, performance.now() + LIMITS.alert_sweep_ms_at_least));
    return {};
  },
});

async function lookAtChanged(ctx: Context, company_id: number, until_ms: number): Promise<void> {
  const { changes } = ctx.limits;
  const again: number[] = [];
  try {
    do {
      const ids = await takeToLookAt(ctx, company_id, until_ms);
      if (ids.length === 0) return;
      again.push(...ids);
      const left: number[] = [];
      const headrooms = changes.headroomsOf(company_id);
      const chosen = { ids, ended_after: lateBy(ctx), limit: LIMITS.alert_batch };
      let looked_at = 0;
      for await (const page of talliedOf(ctx, chosen)) {
        left.push(...(await look(ctx, company_id, page, until_ms, headrooms)));
        looked_at += LIMITS.alert_batch;
        if (performance.now() < until_ms) continue;
        left.push(...ids.slice(looked_at));
        break;
      }
      again.splice(again.length - ids.length, ids.length, ...left);
    } while (performance.now() < until_ms && !ctx.background.is_stopping);
  } finally {
    // What was not looked at, or is being counted still, is looked at the next time.
    for (const id of again) changes.note(company_id, id);
  }
}

/** Takes those that may have come to something, some at a time; none when none is left. */
async function takeToLookAt(
  { limits: { changes }, now }: Context,
  company_id: number,
  until_ms: number,
): Promise<number[]> {
  const taken: number[] = [];
  do {
    const changed = changes.take(company_id, LIMITS.alert_values);
    if (changed.length === 0) return taken;
    taken.push(...changes.withoutHeadroom(company_id, changed, now.epochMilliseconds));
    await nextTurn();
  } while (taken.length < LIMITS.watch_batch && performance.now() < until_ms);
  return taken;
}

async function lookAtAll(ctx: Context, company_id: number, until_ms: number): Promise<void> {
  const { changes } = ctx.limits;
  const after_id = changes.sweepAfter(company_id, ctx.now.epochMilliseconds);
  if (after_id === undefined) return;
  const headrooms = changes.headroomsOf(company_id);
  const chosen = { after_id, ended_after: lateBy(ctx), limit: LIMITS.alert_batch };
  for await (const page of talliedOf(ctx, chosen)) {
    for (const id of await look(ctx, company_id, page, until_ms, headrooms)) changes.note(company_id, id);
    const last = page.at(-1);
    if (last) changes.swept(company_id, last.subscription.id);
    if (performance.now() >= until_ms || ctx.background.is_stopping) return;
  }
  changes.swept(company_id, null);
}

/** Subscriptions that ended a moment ago may have come to a threshold before. */
const lateBy = ({ now }: Context) => now.subtract({ milliseconds: LIMITS.alert_late_ms });

/**
 * Tells what these have reached, and lets requests have their turn: a subscription may have thousands of values. Returns
 * those that are to be looked at again: their totals are not certain yet, or time was over.
 */
async function look(
  ctx: Context,
  company_id: number,
  page: readonly TalliedSubscription[],
  until_ms: number,
  headrooms: Headrooms,
): Promise<number[]> {
  const totals = totalsOf(ctx, company_id, await listZones(readTx(ctx)), page);
  const again: number[] = [];
  const telling = new Telling(ctx, company_id);
  for (const one of page) {
    const { id } = one.subscription;
    const held = performance.now() < until_ms ? heldOf(ctx, company_id, one, totals) : null;
    const is_done = held !== null && (await telling.tellOf(held, until_ms));
    if (!is_done) again.push(id);
    const headroom = is_done ? headroomOf(held, ctx.now.epochMilliseconds) : null;
    if (headroom !== null) headrooms.set(id, headroom);
  }
  await telling.end();
  return again;
}

/** Tells of what values have newly reached, some at a time. */
class Telling {
  readonly #ctx: Context;
  readonly #company_id: number;
  #found: NewlyReached[] = [];
  /** Values that were looked at in this turn. */
  #values = 0;

  constructor(ctx: Context, company_id: number) {
    this.#ctx = ctx;
    this.#company_id = company_id;
  }

  /** Returns whether it came to the end; else it is to be begun again, and what was told is known then. */
  async tellOf(held: Iterable<Held>, until_ms: number): Promise<boolean> {
    for (const reached of newlyReached(held, this.#ctx.limits.changes)) {
      if (reached !== null) this.#found.push(reached);
      this.#values += 1 + (reached?.reached.length ?? 0);
      if (this.#values < LIMITS.alert_values) continue;
      this.#values = 0;
      // Only where something was told is less to be done the next time.
      const is_over = this.#found.length > 0 && performance.now() >= until_ms;
      await this.#tellFound();
      await nextTurn();
      if (is_over) return false;
    }
    return true;
  }

  async end(): Promise<void> {
    await this.#tellFound();
    await nextTurn();
  }

  async #tellFound(): Promise<void> {
    const found = this.#found.splice(0);
    if (found.length === 0) return;
    const { changes } = this.#ctx.limits;
    const written = await tell(
      this.#ctx,
      found.flatMap(({ reached }) => reached),
    );
    changes.countTold(this.#company_id, this.#ctx.now.epochMilliseconds, written);
    for (const { key, group, steps } of found) changes.noteTold(key, group, steps);
  }
}

/** The totals of all these; those that are not kept yet are opened at once, so that they are counted together. */
function totalsOf(
  ctx: Context,
  company_id: number,
  zones: ZoneTimeline,
  page: readonly TalliedSubscription[],
): Map<Tally, WatchedTotals> {
  const watched = page.flatMap(({ tallies }) =>
    tallies.flatMap((tally) => {
      const watch = watchOf(company_id, zones, tally, ctx.now);
      return watch === null ? [] : [{ tally, watch }];
    }),
  );
  const totals = ctx.limits.totalsOf(watched.map(({ watch }) => watch));
  return new Map(
    watched.flatMap(({ tally }, i) => {
      const of_tally = totals[i];
      return of_tally === undefined ? [] : [[tally, of_tally]];
    }),
  );
}

/** What is held against what; null where a total is being counted. */
function heldOf(
  ctx: Context,
  company_id: number,
  one: TalliedSubscription,
  totals: ReadonlyMap<Tally, WatchedTotals>,
): Held[] | null {
  const now_ms = ctx.now.epochMilliseconds;
  const counted = one.tallies.flatMap((tally) => {
    const of_tally = totals.get(tally);
    return of_tally === undefined ? [] : [{ tally, of_tally }];
  });
  if (counted.some(({ of_tally }) => !of_tally.is_certain)) return null;
  return [
    ...heldSpending(one, ctx.limits.spendingOf(company_id), now_ms),
    ...counted.flatMap(({ tally, of_tally }) => [...heldTally(tally, of_tally, now_ms)]),
  ];
}

/** Writes what was not told yet, each with its event in one transaction. Returns how much that was. */
async function tell(ctx: Context, reached: readonly Reached[]): Promise<number> {
  let written = 0;
  for (const part of chunks(reached, LIMITS.alert_write)) {
    written += await transaction(ctx, async (tx) => {
      const ids = await insertFirings(
        tx,
        part.map(({ firing }) => firing),
      );
      const events = part.flatMap((one) => {
        const id = ids.get(one.firing.digest);
        return id === undefined ? [] : [eventOf(one, id, iso(tx.now))];
      });
      await recordEvents(tx, events);
      return events.length;
    });
    await nextTurn();
  }
  return written;
}
