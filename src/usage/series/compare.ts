import type { Context } from "../../app/context.ts";
import { readTx } from "../../app/transaction.ts";
import { compare, type Decimal, isZero, max, min, quotient, subtract, sum } from "../../core/money.ts";
import type { Measure, SeriesLine, SeriesQuery, SeriesResult } from "../../usage_store/series.ts";
import { linesOf } from "./answer.ts";
import { isoMs, shownBuckets } from "./buckets.ts";
import type { Compared } from "./model.ts";
import { keptOnly, nothingOf, optionsOf, type Plan, storable } from "./plan.ts";
import { moveEdges } from "./range.ts";

/** The same groups in the range that the question compares with, and how much they changed since. */
export async function comparedOf(
  ctx: Context,
  { question, fields, buckets, time_zone, query }: Plan,
  found: SeriesResult,
  signal = ctx.stop(),
): Promise<Compared | null> {
  if (question.compare === undefined) return null;
  const ask = (changes: Partial<SeriesQuery>) =>
    keptOnly(() => ctx.usage.series({ ...query, only, ...changes }, optionsOf(ctx, signal)));
  const only = found.groups.map(({ keys }) => keys);
  const edges = moveEdges(buckets.edges, question.compare, time_zone);
  const before = await ask({ edges: storable(edges) });
  const sides = await sidesOf(ctx, { now: found, before, edges: [buckets.edges, edges], query, ask });
  const lines = await linesOf(readTx(ctx), before, fields, {
    buckets: edges.length - 1,
    nothing: nothingOf(question),
  });
  return {
    from: isoMs(edges[0]),
    to: isoMs(edges.at(-1)),
    buckets: shownBuckets(edges, buckets, ctx.now),
    total: { ...lines.total, change: changeOf(sides, ({ total }) => total) },
    groups: lines.groups.map((group, i) => ({
      ...group,
      change: changeOf(sides, ({ groups }) => groups[i] ?? null),
    })),
    other: lines.other && { ...lines.other, change: changeOf(sides, ({ other }) => other) },
  };
}

/** What is compared: a measure of two answers, all of it or in the buckets before `over`. */
interface Sides {
  now: SeriesResult;
  before: SeriesResult;
  over: number | "all";
  measure: Measure;
}

/** Where a bucket is not over yet, both sides without it: asked again where the measure does not follow from buckets. */
async function sidesOf(
  ctx: Context,
  {
    now,
    before,
    edges: [edges, edges_before],
    query: { measure },
    ask,
  }: Pick<Sides, "now" | "before"> & {
    edges: [number[], number[]];
    query: SeriesQuery;
    ask: (changes: Partial<SeriesQuery>) => Promise<SeriesResult>;
  },
): Promise<Sides> {
  const over = countOver(edges, ctx.now.epochMilliseconds);
  if (over === edges.length - 1) return { now, before, over: "all", measure };
  if (over === 0 || ADDS_UP[measure]) return { now, before, over, measure };
  const whole = (all: readonly number[]) => ask({ edges: storable([all[0] ?? 0, all[over] ?? 0]) });
  return { now: await whole(edges), before: await whole(edges_before), over: "all", measure };
}

/** Whether a measure of several buckets follows from those of each. */
const ADDS_UP: Record<Measure, boolean> = {
  units: true,
  events: true,
  smallest: true,
  largest: true,
  mean: false,
  active_subscriptions: false,
};

/** How many buckets are over. What ends with this millisecond, as ranges up to now do, is. */
function countOver(edges: readonly number[], now_ms: number): number {
  return edges.slice(1).filter((end) => end <= now_ms + 1).length;
}

/** The change of a line; null where there was nothing, or no bucket is over. */
function changeOf(
  { now, before, over, measure }: Sides,
  lineOf: (result: SeriesResult) => SeriesLine | null,
): number | null {
  const [after, base] = [now, before].map((result) => {
    const line = lineOf(result);
    if (line === null || over === "all") return line?.value ?? null;
    return over === 0 ? null : measureOver(line, over, measure);
  });
  if (after == null || base == null || isZero(base)) return null;
  const size = compare(base, "0") < 0 ? subtract("0", base) : base;
  return Number(quotient(subtract(after, base), size, CHANGE_DIGITS));
}

const CHANGE_DIGITS = 6;

/** The measure of the first buckets, from that of each. */
function measureOver({ buckets }: SeriesLine, over: number, measure: Measure): Decimal | null {
  const values = [...buckets].flatMap(([i, value]) => (i < over ? [value] : []));
  if (measure === "units" || measure === "events") return sum(values);
  const [first] = values;
  if (first === undefined) return null;
  return values.reduce(measure === "smallest" ? min : max, first);
}
