import { type Context, operation } from "../../context.ts";
import { scopeOf } from "../../core/access.ts";
import { LIMITS } from "../../core/config.ts";
import { AppError } from "../../core/errors.ts";
import { rejectedRows, storeFresh, toRaw } from "./import_rows.ts";
import { ImportedUsage, ImportUsage, RecordedUsage, RecordUsage, type RejectedRow } from "./model.ts";
import * as queries from "./queries.ts";
import {
  externalIdsOf,
  invalidEvents,
  type ReadEvents,
  readEvents,
  refusedEvents,
  sentEvents,
} from "./read_events.ts";

/**
 * Stores one event or up to 1,000, whole or not at all, and answers when they are durable. An event that is
 * stored already, with the same content, counts as a duplicate.
 * Errors: invalid naming every broken event, conflict for an id that has other content, too_large,
 * unavailable when too much waits. Source: usage.md, Ingest.
 */
export const recordUsage = operation({
  name: "record_usage",
  permission: "usage:write",
  input: RecordUsage,
  output: RecordedUsage,
  async run(ctx, body) {
    const { raws, single } = sentEvents(body);
    const limits = { usage_as_text: false, max_problems: LIMITS.usage_problems };
    const { events, problems } = await readAgainstStore(ctx, raws, limits);
    if (problems.length > 0) throw invalidEvents(problems, single);
    const { company_id } = scopeOf(ctx.actor);
    try {
      return await ctx.usage.append(company_id, events, ctx.now.epochMilliseconds);
    } catch (error) {
      throw refusalOf(error, single);
    }
  },
});

/**
 * Stores rows of a file by the rules of ingest, each on its own: broken ones are told of, the others stored.
 * A row without an id has one that follows from the file's content and the row's number, so that the same
 * file stores nothing twice. Errors: unavailable when the commit fails. Source: usage.md, Ingest.
 */
export const importUsage = operation({
  name: "import_usage",
  permission: "usage:write",
  input: ImportUsage,
  output: ImportedUsage,
  async run(ctx, { source, subscription_field, rows }) {
    const raws = rows.map((row) => toRaw(row, source, subscription_field));
    const readable = raws.flatMap(({ raw }) => (raw === undefined ? [] : [raw]));
    const limits = { usage_as_text: true, max_problems: Number.POSITIVE_INFINITY };
    const { events, positions, problems } = await readAgainstStore(ctx, readable, limits);
    const row_of = raws.flatMap(({ row, raw }) => (raw === undefined ? [] : [row]));
    const { company_id } = scopeOf(ctx.actor);
    const stored = await storeFresh(ctx.usage, company_id, events, ctx.now.epochMilliseconds);
    const unreadable = raws.flatMap(({ row, reason }): RejectedRow[] =>
      reason === undefined ? [] : [{ row, reason }],
    );
    const refused = stored.refused.map((problem) => ({
      ...problem,
      position: positions[problem.position] ?? 0,
    }));
    const rejected = [...unreadable, ...rejectedRows([...problems, ...refused], row_of)];
    return {
      accepted: stored.accepted,
      duplicates: stored.duplicates,
      rejected: rejected.toSorted((a, b) => a.row - b.row),
    };
  },
});

async function readAgainstStore(
  { store, actor, now }: Context,
  raws: readonly unknown[],
  limits: { usage_as_text: boolean; max_problems: number },
): Promise<ReadEvents> {
  const scope = scopeOf(actor);
  const { company_id } = scope;
  // Not cached (decision 0021): a subscription made or ended a moment ago must count at once, on every instance.
  const subscriptions = await queries.findMeteredSubscriptions(
    store.read,
    scope,
    externalIdsOf(company_id, raws),
  );
  return readEvents(raws, { company_id, now_ms: now.epochMilliseconds, subscriptions, ...limits });
}

/** A failed append as the request is told of it. A single event has no position: its conflict is at `/id`. */
function refusalOf(error: unknown, single: boolean): unknown {
  if (!(error instanceof AppError) || error.details === undefined) return error;
  if (error.kind === "invalid") return invalidEvents(refusedEvents(error), single);
  if (!single) return error;
  const details = error.details.map(({ path, message }) => ({ path: path.replace(/^\/0/, ""), message }));
  return new AppError(error.kind, error.message, { details, cause: error });
}
