import { useId, useMemo } from "preact/hooks";
import type { JSX } from "preact";
import { shortNumber } from "../text/number.ts";
import { isMidnight } from "../text/time.ts";
import { type Area, areaOf, heightNumbers, heightScale, linePath, Plot } from "./plot.tsx";

export interface Series {
  name: string;
  /** One for each bucket; null where nothing is known yet. */
  values: readonly (number | null)[];
  /** A comparison: drawn over the others as a broken line. */
  is_ghost?: boolean;
  /** Which of the colours it keeps; by default its place. */
  colour?: number;
}

/** What is drawn. */
export interface Charted {
  kind: "line" | "bar" | "stacked";
  /** Starts of the buckets, Unix ms, ascending. */
  starts: readonly number[];
  series: readonly Series[];
  /** How a bucket's start is written on the axis. */
  nameTick: (at_ms: number) => string;
  /** Whether values are parts of 1, which the axis names as they are. */
  is_share?: boolean;
  /** What is said of a value; by default the number. Amounts are the service's texts. */
  nameValue?: (value: number, series: number, bucket: number) => string;
  /** Buckets that are not over, from this one on: hatched. */
  partial_from?: number | undefined;
  /** Buckets before this one are cut by the range: hatched, too. */
  partial_before?: number | undefined;
  /** Buckets before this one have not been read yet: shaded. */
  unread_before?: number | undefined;
}

/** How many colours the style sheet has for series. */
const COLOURS = 9;
export const colourClass = (series: Series, index: number): string =>
  `s${(series.colour ?? index) % COLOURS}${series.is_ghost ? " ghost" : ""}`;

/** A chart as it is drawn, and where its buckets are. */
export interface Drawn {
  area: Area;
  picture: JSX.Element;
  /** The middle of a bucket, in pixels. */
  xOf: (bucket: number) => number;
  yOf: (value: number) => number;
  bucketAt: (x: number) => number;
}

/** Draws a chart anew only where something of it has changed: pointing at a bucket draws nothing. */
export function useDrawn(props: Charted, width: number, height: number): Drawn {
  const { kind, starts, series, partial_from, partial_before, unread_before } = props;
  const id = useId();
  return useMemo(
    () => draw(props, areaOf(width, height), id),
    [kind, starts, series, partial_from, partial_before, unread_before, width, height],
  );
}

function draw(props: Charted, area: Area, id: string): Drawn {
  const { kind, starts, series, nameTick, nameValue, is_share = false } = props;
  const { left, right } = area;
  // Buckets stand side by side, however long each is: months differ, and ranges cut their first and last.
  const slot = (right - left) / Math.max(1, starts.length);
  const xOf = (bucket: number) => left + (bucket + 0.5) * slot;
  const stacks = series.map(({ values }) => values.map((value) => ({ from: 0, to: value })));
  if (kind === "stacked") stack(series, stacks);
  const ends = stacks.flat().flatMap(({ to }) => to ?? []);
  const low = ends.reduce((least, end) => Math.min(least, end), 0);
  const most = ends.reduce((largest, end) => Math.max(largest, end), 0);
  const high = most === 0 && low === 0 ? 1 : most * 1.05;
  const yOf = heightScale(low, high, area);
  const nameHeight = (value: number) => (is_share && nameValue ? nameValue(value, 0, 0) : shortNumber(value));
  const picture = (
    <Plot
      area={area}
      below={tickPlaces(starts, right - left).map((bucket) => ({
        at: xOf(bucket),
        name: nameTick(starts[bucket] ?? 0),
      }))}
      beside={heightNumbers(low, high, area).map((value) => ({ at: yOf(value), name: nameHeight(value) }))}
    >
      <Unread props={props} area={area} slot={slot} />
      {series.map((one, i) => {
        const is_line = kind === "line" || one.is_ghost;
        const points = stacks[i] ?? [];
        return is_line ? (
          <path
            key={`${i} ${one.name}`}
            class={`line ${colourClass(one, i)}`}
            d={linePath(points.map(({ to }, at) => (to === null ? null : [xOf(at), yOf(to)])))}
          />
        ) : (
          <path
            key={`${i} ${one.name}`}
            class={`bars ${colourClass(one, i)}`}
            d={barsPath(points, { xOf, yOf, slot })}
          />
        );
      })}
      <Hatched props={props} area={area} slot={slot} id={id} />
    </Plot>
  );
  const bucketAt = (x: number) => Math.max(0, Math.min(starts.length - 1, Math.floor((x - left) / slot)));
  return { area, picture, xOf, yOf, bucketAt };
}

/** Where a value of a series is drawn: from one height to another. */
interface Span {
  from: number;
  to: number | null;
}

/** Sets values on one another: what is above nothing upwards, credits downwards. Comparisons stay as they are. */
function stack(series: readonly Series[], spans: readonly Span[][]): void {
  const sums = { up: new Map<number, number>(), down: new Map<number, number>() };
  for (const [i, { is_ghost }] of series.entries()) {
    if (is_ghost) continue;
    for (const [bucket, span] of (spans[i] ?? []).entries()) {
      if (span.to === null) continue;
      const side = span.to < 0 ? sums.down : sums.up;
      span.from = side.get(bucket) ?? 0;
      span.to += span.from;
      side.set(bucket, span.to);
    }
  }
}

const BAR_SHARE = 0.8;
/** Of narrower buckets the gaps would be a pattern of their own: their bars touch. */
const GAP_FROM_PX = 4;
const BAR_MOST_PX = 60;

function barsPath(
  spans: readonly Span[],
  { xOf, yOf, slot }: Pick<Drawn, "xOf" | "yOf"> & { slot: number },
): string {
  const width = slot < GAP_FROM_PX ? Math.max(1, slot) : Math.min(BAR_MOST_PX, slot * BAR_SHARE);
  return spans
    .map(({ from, to }, bucket) => {
      if (to === null || to === from) return "";
      // Bars that touch share an edge, to the digit.
      const [left, right] = [xOf(bucket) - width / 2, xOf(bucket) + width / 2].map((x) => x.toFixed(1));
      return `M${left} ${yOf(from).toFixed(1)}H${right}V${yOf(to).toFixed(1)}H${left}z`;
    })
    .join("");
}

interface Marked {
  props: Charted;
  area: Area;
  slot: number;
}

function Unread({ props: { unread_before = 0 }, area, slot }: Marked) {
  if (unread_before <= 0) return null;
  const { left, top, bottom } = area;
  return <rect class="unread" x={left} y={top} width={unread_before * slot} height={bottom - top} />;
}

/** Slanted lines over the buckets that are not whole: those that the range cuts, and those that are not over. */
function Hatched({ props, area, slot, id }: Marked & { id: string }) {
  const { starts, partial_before = 0, partial_from = starts.length } = props;
  const { left, top, bottom } = area;
  const parts = [
    [0, partial_before],
    [partial_from, starts.length],
  ] as const;
  return (
    <>
      <pattern id={id} width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <path class="hatching" d="M0 0V4" />
      </pattern>
      {parts.map(
        ([from, to]) =>
          from < to && (
            <rect
              key={from}
              class="hatched"
              x={left + from * slot}
              y={top}
              width={(to - from) * slot}
              height={bottom - top}
              fill={`url(#${id})`}
            />
          ),
      )}
    </>
  );
}

/** What is pointed at: a line at its bucket, and on lines their points. In a picture of its own above the chart. */
export function Pointed({ at, drawn, kind, series }: Charted & { at: number; drawn: Drawn }) {
  const { area, xOf, yOf } = drawn;
  const x = xOf(at);
  return (
    <svg class="pointed" width={area.width} height={area.height}>
      <path class="cursor" d={`M${x.toFixed(1)} ${area.top}V${area.bottom}`} />
      {kind === "line" &&
        series.map((one, i) => {
          const value = one.values[at];
          if (value === null || value === undefined) return null;
          return <circle key={i} class={colourClass(one, i)} cx={x} cy={yOf(value)} r="3.5" />;
        })}
    </svg>
  );
}

/** The part of a chart that a drag is over. */
export function Dragged({ from, to, area }: { from: number; to: number; area: Area }) {
  const [first, last] = [from, to]
    .map((x) => Math.max(area.left, Math.min(area.right, x)))
    .toSorted((a, b) => a - b);
  return (
    <svg class="pointed" width={area.width} height={area.height}>
      <rect
        class="dragged"
        x={first}
        y={area.top}
        width={(last ?? 0) - (first ?? 0)}
        height={area.bottom - area.top}
      />
    </svg>
  );
}

/** How wide the text of a tick is with what is around it. */
const TICK_PX = 76;
/** How many buckets lie between two ticks, by what divides a day, an hour, a week, a year. */
const STEPS = [1, 2, 3, 4, 6, 7, 12, 14, 24, 28, 48, 72, 96, 144, 168, 288, 336, 720];
const DAY_MS = 86_400_000;

/** The buckets that the axis names: as many as there is room for, days from their first bucket on. */
function tickPlaces(starts: readonly number[], width: number): number[] {
  const least = Math.ceil((starts.length * TICK_PX) / Math.max(width, TICK_PX));
  const length = Math.min(...starts.slice(1).map((start, i) => start - (starts[i] ?? 0)), DAY_MS);
  // Of hours and minutes the day's first bucket has a tick.
  const first = length < DAY_MS / 2 ? Math.max(0, starts.findIndex(isMidnight)) : 0;
  const a_day = Math.round(DAY_MS / Math.max(length, 60_000));
  const fits = (step: number) => first === 0 || step % a_day === 0 || a_day % step === 0;
  const step = STEPS.find((one) => one >= least && fits(one)) ?? least;
  return starts.flatMap((_, bucket) => ((bucket - first) % step === 0 ? [bucket] : []));
}
