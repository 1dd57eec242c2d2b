import { Type } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { call, operation } from "../../app/operation.ts";
import { scopeOf } from "../../core/access.ts";
import { LIMITS } from "../limits.ts";
import { AppError } from "../../core/errors.ts";
import { countRefused, countStored } from "../metrics.ts";
import { readCloudEvents } from "./cloud_events.ts";
import { reservedBy, reservedElsewhere } from "./reserved.ts";
import { storeFresh } from "./store_fresh.ts";
import { RecordCloudEvents, RecordedUsage, RecordUsage } from "./model.ts";
import { invalidEvents, refusedEvents, type SentEvents, splitEvents } from "./sent_events.ts";
import type { NewEvent } from "../../usage_store/port.ts";
import { appendWithRetry, type EventLines, storeLines } from "./stream.ts";
import { resolveEvents } from "./resolve_events.ts";

/**
 * Stores one event or up to 1,000, all or none, and resolves when they are durable. An event that is stored already,
 * with the same content, counts as a duplicate.
 * Errors: invalid naming every broken event, conflict for an id that has other content, too_large,
 * unavailable when too many events are pending. See docs/usage.md#send-events.
 */
export const recordUsage = operation({
  name: "record_usage",
  permission: "usage:write",
  unaudited: true,
  input: RecordUsage,
  output: RecordedUsage,
  run: (ctx, body) => storeSent(ctx, splitEvents(body)),
});

/**
 * Stores CloudEvents, one or up to 1,000, by the same rules. Errors: those of `recordUsage`, at the places of
 * the CloudEvents. Decision 0041.
 */
export const recordCloudEvents = operation({
  name: "record_cloud_events",
  permission: "usage:write",
  unaudited: true,
  input: RecordCloudEvents,
  output: RecordedUsage,
  run: (ctx, { body, is_batch }) => storeSent(ctx, readCloudEvents(body, is_batch)),
});

/** Events, one a line, and the sender's context, authenticated again for each block of lines. */
const RecordUsageStream = Type.Unsafe<{ lines: EventLines; renew: () => Promise<Context> }>(Type.Any());

/**
 * Stores a stream of events of any length, in blocks of up to 1,000, each all or none. Errors: those of `recordUsage`
 * and of the lines, with the line and the counts stored before it. Decision 0040.
 */
export const recordUsageStream = operation({
  name: "record_usage_stream",
  permission: "usage:write",
  unaudited: true,
  input: RecordUsageStream,
  output: RecordedUsage,
  run: (_, { lines, renew }) =>
    storeLines(lines, async (events) => call(await renew(), recordUsageBlock, events)),
});

/** Stores one block of a stream. */
const recordUsageBlock = operation({
  name: "record_usage_block",
  permission: "usage:write",
  unaudited: true,
  input: RecordUsage,
  output: RecordedUsage,
  run: (ctx, events) => storeSent(ctx, splitEvents(events), appendWithRetry),
});

async function storeSent(
  ctx: Context,
  sent: SentEvents,
  append: typeof appendWithRetry = (usage, ...block) => usage.append(...block),
): Promise<RecordedUsage> {
  try {
    const stored = await storeAll(ctx, sent, append);
    countStored(stored);
    return stored;
  } catch (error) {
    countRefused(sent.raws.length, error);
    throw error;
  }
}

async function storeAll(
  ctx: Context,
  { raws, single, former_ids, locateProblems }: SentEvents,
  append: typeof appendWithRetry,
): Promise<RecordedUsage> {
  const limits = { usage_as_text: false, max_problems: LIMITS.usage_problems };
  const read = await resolveEvents(ctx, raws, limits);
  const located = locateProblems(read.problems);
  if (located.length > 0) throw invalidEvents(located, single);
  const { company_id } = scopeOf(ctx.actor);
  const events = former_ids?.size ? await withFormerIds(ctx, read.events, former_ids) : read.events;
  const settled = settledBy(ctx, company_id, events, single);
  try {
    const stored = await append(ctx.usage, company_id, events, ctx.now.epochMilliseconds);
    ctx.limits.settle(company_id, settled);
    return stored;
  } catch (error) {
    if (error instanceof AppError && error.kind === "invalid")
      throw invalidEvents(locateProblems(refusedEvents(error)), single);
    throw answerOf(error, single);
  }
}

/** The reservations that the events settle. Errors: conflict for an event under another subscription's reservation. */
function settledBy(ctx: Context, company_id: number, events: readonly NewEvent[], single: boolean): string[] {
  const { settled, foreign } = reservedBy(ctx, company_id, events);
  if (foreign.size === 0) return settled;
  throw answerOf(reservedElsewhere(foreign), single);
}

/** The events, each under its former id where it is stored under that, so that it counts as a duplicate. */
async function withFormerIds(
  { usage, actor, now }: Context,
  events: readonly NewEvent[],
  former_ids: ReadonlyMap<number, string>,
): Promise<NewEvent[]> {
  const { company_id } = scopeOf(actor);
  const renamed = [...former_ids].flatMap(([position, id]) => {
    const event = events[position];
    return event === undefined ? [] : [{ position, event: { ...event, id } }];
  });
  // A lookup only: what is not stored is refused.
  const lookups = renamed.map(({ event }) => ({ ...event, only_if_stored: "is not stored" }));
  const { refused } = await storeFresh(usage, company_id, lookups, now.epochMilliseconds);
  const unknown = new Set(refused.map(({ position }) => position));
  const stored = renamed.filter((_, index) => !unknown.has(index));
  const by_position = new Map(stored.map(({ position, event }) => [position, event]));
  return events.map((event, position) => by_position.get(position) ?? event);
}

/** As many conflicts as an answer names. A single event has no position: its conflict is at `/id`. */
function answerOf(error: unknown, single: boolean): unknown {
  if (!(error instanceof AppError) || error.details === undefined) return error;
  const details = error.details
    .slice(0, LIMITS.usage_problems)
    .map(({ path, message }) => ({ path: single ? path.replace(/^\/0/, "") : path, message }));
  return new AppError(error.kind, error.message, { details, cause: error });
}
