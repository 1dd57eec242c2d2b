import { Type } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { readTx } from "../../app/transaction.ts";
import { createDownloadStream, type Download } from "../../core/download.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { iso } from "../../core/time.ts";
import type { BoundedWindow } from "../../core/windows.ts";
import { listZones } from "../../tenancy/companies/queries.ts";
import type { SeriesResult } from "../../usage_store/series.ts";
import { LIMITS } from "../limits.ts";
import { linesOf } from "./answer.ts";
import { isoMs, shownBuckets } from "./buckets.ts";
import { comparedOf } from "./compare.ts";
import { resolve } from "../filters/resolve.ts";
import { findRange } from "./find_range.ts";
import { namesOf } from "./groups.ts";
import type { UsageFilter } from "../filters/model.ts";
import {
  type Compared,
  type Meta,
  type SeriesFrame,
  SeriesQuestion,
  UsageSeriesAnswer,
  UsageValues,
  ValuesQuestion,
} from "./model.ts";
import { keptOnly, nothingOf, optionsOf, type Plan, planOf, storable } from "./plan.ts";
import { neighbours } from "./range.ts";

/**
 * Answers a measure of usage over time, by group. A client user sees its own client's usage only. It ends with its request.
 * Errors: invalid for a range or filter that can't be read, too many buckets, or events that were removed; not_found for
 * a range by a subscription that is not in the scope; forbidden for ids outside of it; unavailable past the time limit,
 * rate_limited when too many questions wait. Decision 0275.
 */
export const getUsageSeries = operation({
  name: "get_usage_series",
  permission: "usage:read",
  input: SeriesQuestion,
  output: UsageSeriesAnswer,
  async run(ctx, question) {
    const asked = await planOf(ctx, question);
    const found = await keptOnly(() => ctx.usage.series(asked.query, optionsOf(ctx)));
    return answerOf(ctx, asked, found, { compare: await comparedOf(ctx, asked, found) });
  },
});

/**
 * The same answer as lines of JSON: each is exact for what has been read, the newest events first. Errors: as
 * `getUsageSeries`, until the first line. Decision 0276.
 */
export const streamUsageSeries = operation({
  name: "stream_usage_series",
  permission: "usage:read",
  input: SeriesQuestion,
  output: Type.Unsafe<Download>(Type.Any()),
  async run(ctx, question) {
    const asked = await planOf(ctx, question);
    const encoder = new TextEncoder();
    const body = await createDownloadStream(
      async (write, signal) => {
        const send = (frame: SeriesFrame) => write(encoder.encode(`${JSON.stringify(frame)}\n`));
        await sendFrames(ctx, asked, signal, send);
      },
      {
        idle_ms: SHARED_LIMITS.download_idle_ms,
        bytes_s: SHARED_LIMITS.download_bytes_s,
        onError: (error) => ctx.log.info({ err: error, request_id: ctx.request_id }, "series broken off"),
      },
    );
    return { media_type: "application/x-ndjson", filename: "series.ndjson", body };
  },
});

/**
 * Lists the values that a field has, the most frequent first, with their exact numbers of events and sums: for filters, as
 * somebody types them. Errors: as `getUsageSeries`.
 */
export const listUsageValues = operation({
  name: "list_usage_values",
  permission: "usage:read",
  input: ValuesQuestion,
  output: UsageValues,
  async run(ctx, { field, search, limit = LIMITS.usage_values_default, filters = [], ...question }) {
    const having: UsageFilter =
      search === undefined ? { field, op: "present" } : { field, op: "contains", values: [search] };
    const { range: asked, ...bounds } = question;
    const began_ms = performance.now();
    const tx = readTx(ctx);
    const zones = await listZones(tx);
    const resolved = await resolve(tx, { ...bounds, filters: [...filters, having] }, [field]);
    const { start_ms, end_ms } = await findRange(ctx, asked, resolved.filter, zones);
    const found = await keptOnly(() =>
      ctx.usage.series(
        {
          ...resolved.filter,
          edges: storable([start_ms, end_ms]),
          group_by: resolved.group_by,
          measure: "units",
          by_events: true,
          top: limit,
          max_key_length: LIMITS.usage_metadata_value_length,
        },
        optionsOf(ctx),
      ),
    );
    const keys = found.groups.map((group) => group.keys[0] ?? null);
    const nameOf = await namesOf(tx, field, keys);
    return {
      data: found.groups.flatMap((group, i) => {
        const { key, name } = nameOf(keys[i] ?? null);
        if (key === null) return [];
        return [{ key, name: name ?? key, event_count: group.events, total_usage: Number(group.value) }];
      }),
      meta: { ...metaOf(ctx, found, began_ms), total: found.group_count },
    };
  },
});

/** The answer as far as everything from `from_ms` on has been read. */
async function answerOf(
  ctx: Context,
  { question, fields, buckets, time_zone, query, began_ms }: Plan,
  found: SeriesResult,
  {
    from_ms = Number.NEGATIVE_INFINITY,
    compare = null,
  }: { from_ms?: number; compare?: Compared | null } = {},
): Promise<UsageSeriesAnswer> {
  const { edges } = buckets;
  const unread = query.edges.findIndex((edge) => edge >= from_ms);
  const lines = await linesOf(readTx(ctx), found, fields, {
    buckets: edges.length - 1,
    nothing: nothingOf(question),
    unread,
  });
  return {
    data: {
      from: isoMs(edges[0]),
      to: isoMs(edges.at(-1)),
      ...neighboursOf(edges, time_zone),
      time_zone,
      interval: buckets.interval,
      measure: query.measure,
      buckets: shownBuckets(edges, buckets, ctx.now),
      ...lines,
      group_count: found.group_count,
      compare,
    },
    meta: metaOf(ctx, found, began_ms),
  };
}

function metaOf(ctx: Context, { total, read }: SeriesResult, began_ms: number): Meta {
  const took_ms = Math.round((performance.now() - began_ms) * 10) / 10;
  return { matched: total.events, read, took_ms, as_of: iso(ctx.now) };
}

/** What the arrows of a chart lead to. */
function neighboursOf(edges: readonly number[], time_zone: string) {
  const { before, after } = neighbours({ start_ms: edges[0] ?? 0, end_ms: edges.at(-1) ?? 0 }, time_zone);
  return { before: shownRange(before), after: shownRange(after) };
}

const shownRange = ({ start_ms, end_ms }: BoundedWindow) => ({ from: isoMs(start_ms), to: isoMs(end_ms) });

/** Sends the answer frame by frame. The last one has the comparison, for which no connection is kept waiting. */
async function sendFrames(
  ctx: Context,
  asked: Plan,
  receiver: AbortSignal,
  send: (frame: SeriesFrame) => Promise<void>,
): Promise<void> {
  const stop = ctx.stop();
  const signal = stop === undefined ? receiver : AbortSignal.any([stop, receiver]);
  const [start] = asked.query.edges;
  let last: SeriesResult | undefined;
  const options = { ...optionsOf(ctx, signal), slice_events: LIMITS.usage_series_slice };
  await keptOnly(() =>
    ctx.usage.seriesFrames(asked.query, options, async ({ from_ms, result }) => {
      if (from_ms === start) last = result;
      else {
        const part = await answerOf(ctx, asked, result, { from_ms });
        await send({ ...part, read_from: isoMs(from_ms), is_last: false });
      }
    }),
  );
  if (last === undefined) throw new Error("A series ended before its first bucket");
  const compare = await comparedOf(ctx, asked, last, signal);
  const whole = await answerOf(ctx, asked, last, { compare });
  await send({ ...whole, read_from: isoMs(asked.buckets.edges[0]), is_last: true });
}
