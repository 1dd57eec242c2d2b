import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { isDark } from "../app/theme.ts";
import { number, shortNumber } from "../text/number.ts";
import { isMidnight } from "../text/time.ts";
import { Table } from "./table.tsx";

export interface Series {
  name: string;
  /** One for each bucket; null where nothing is known yet. */
  values: readonly (number | null)[];
  /** A comparison: drawn behind, as a ghost. */
  is_ghost?: boolean;
  /** Which of the colours it keeps; by default its place. */
  colour?: number;
}

interface ChartProps {
  kind: "line" | "bar" | "stacked";
  /** Starts of the buckets, Unix ms, ascending. */
  starts: readonly number[];
  series: readonly Series[];
  /** What it shows in a sentence: total, peak, change. */
  sentence: string;
  nameBucket: (index: number) => string;
  /** How a bucket's start is written on the axis. */
  nameTick: (at_ms: number) => string;
  /** Buckets that are not over, from this one on: hatched. */
  partial_from?: number | undefined;
  /** Buckets before this one are cut by the range: hatched, too. */
  partial_before?: number | undefined;
  /** Buckets before this one have not been read yet: shaded. */
  unread_before?: number | undefined;
  /** A drag was made over these buckets, both inclusive. Fields for the same belong beside the chart. */
  onZoom?: (from: number, to: number) => void;
  /** Whether values are parts of 1, which the axis names as they are. */
  is_share?: boolean;
  /** What is said of a value; by default the number. Amounts are the service's texts. */
  nameValue?: (value: number, series: number, bucket: number) => string;
  /** What can be done with a bucket that was clicked, or reached by keys. */
  acts?: (bucket: number) => ComponentChildren;
  height?: number;
  /** Whether the page shows the same numbers in a table of its own. */
  has_table?: boolean;
}

const COLOURS = 9;
/** A series' colour, as the style sheet has it. */
function colourOf(index: number): string {
  return getComputedStyle(document.documentElement)
    .getPropertyValue(`--series-${index % COLOURS}`)
    .trim();
}

/**
 * A chart over buckets of time. It is a figure that takes the focus: arrow keys go from bucket to bucket and say what
 * is there; a drag zooms. The same numbers are in a table below it. `starts` and `series` should stay the same objects
 * while their content does.
 */
export function Chart(props: ChartProps) {
  const { starts, series, sentence, height = 260, has_table = false } = props;
  const place = useRef<HTMLDivElement>(null);
  const drawn = useRef<uPlot>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const [at, setAt] = useState<number>();
  // A bucket that was clicked or reached by keys stays, wherever the pointer goes, until a click or Escape.
  const [is_held, setHeld] = useState(false);
  const held = useRef(false);
  held.current = is_held;
  const id = useId();
  const is_dark = isDark.value;
  useEffect(() => {
    const element = place.current;
    if (element === null || starts.length === 0) return undefined;
    const plot = new uPlot(
      optionsOf(latest, element.clientWidth, height, (bucket) => {
        if (!held.current) setAt(bucket);
      }),
      dataOf(props),
      element,
    );
    drawn.current = plot;
    if (props.acts) plot.over.addEventListener("click", () => setHeld(!held.current));
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      drawn.current = undefined;
      plot.destroy();
    };
  }, [
    props.kind,
    starts,
    series,
    is_dark,
    height,
    props.partial_from,
    props.partial_before,
    props.unread_before,
  ]);
  useEffect(() => {
    setAt(undefined);
    setHeld(false);
  }, [starts]);
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape") setHeld(false);
    const last = starts.length - 1;
    const to = { ArrowRight: (at ?? -1) + 1, ArrowLeft: (at ?? last + 1) - 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const bucket = Math.max(0, Math.min(last, to));
    setAt(bucket);
    setHeld(true);
    const plot = drawn.current;
    plot?.setCursor({ left: plot.valToPos(bucket, "x"), top: 0 }, false);
  };
  return (
    <figure class="chart" aria-labelledby={id}>
      <div
        class="plot-frame"
        role="application"
        aria-roledescription="chart"
        aria-labelledby={id}
        tabIndex={0}
        onKeyDown={press}
      >
        <div ref={place} class="plot" aria-hidden="true" />
      </div>
      <Readout {...props} at={at} is_held={is_held} />
      <figcaption id={id}>{sentence}</figcaption>
      {!has_table && <ChartTable {...props} />}
    </figure>
  );
}

function valueText({ series, nameValue }: ChartProps, index: number, bucket: number): string {
  const value = series[index]?.values[bucket];
  if (value === null || value === undefined) return "–";
  return nameValue ? nameValue(value, index, bucket) : number(value);
}

/** More would be a list, which belongs below the chart. */
const LEGEND = 12;

/** The legend, with the values of the bucket that is pointed at. */
function Readout(props: ChartProps & { at: number | undefined; is_held: boolean }) {
  const { series, starts, nameBucket, partial_from, partial_before = 0, acts, at, is_held } = props;
  const is_there = at !== undefined && starts[at] !== undefined;
  const is_partial = is_there && ((partial_from !== undefined && at >= partial_from) || at < partial_before);
  const lines = series.map((line, i) => ({ ...line, i }));
  const sizeOf = ({ values }: Series) => Math.abs((is_there ? values[at] : undefined) ?? 0);
  const shown =
    series.length > LEGEND ? lines.toSorted((a, b) => sizeOf(b) - sizeOf(a)).slice(0, LEGEND) : lines;
  return (
    <div class="readout" role="status">
      <div class={acts ? "bucket with-acts" : "bucket"}>
        {is_there && (
          <>
            <strong>{nameBucket(at)}</strong>
            {is_partial && <span class="soft"> (not whole)</span>}
            {is_held && acts && <> {acts(at)}</>}
          </>
        )}
      </div>
      {(series.length > 1 || is_there) &&
        shown.map(({ name, is_ghost, colour, i }) => (
          <span key={`${i} ${name}`} class={`key s${(colour ?? i) % COLOURS}${is_ghost ? " ghost" : ""}`}>
            {name}
            {is_there && `: ${valueText(props, i, at)}`}
          </span>
        ))}
    </div>
  );
}

/** The numbers of a chart, for those who want to read them. */
function ChartTable(props: ChartProps) {
  const { starts, series, nameBucket } = props;
  const [is_open, setOpen] = useState(false);
  return (
    <details class="chart-table" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>As a table</summary>
      {is_open && (
        <Table
          label="The numbers of this chart"
          rows={starts.map((_, bucket) => bucket)}
          keyOf={(bucket) => bucket}
          columns={[
            { title: "When", cell: nameBucket },
            ...series.map(({ name }, i) => ({
              title: name,
              is_figure: true,
              cell: (bucket: number) => valueText(props, i, bucket),
            })),
          ]}
        />
      )}
    </details>
  );
}

/** What uPlot draws: bars on one another are sums, drawn from the highest down. */
function dataOf({ kind, starts, series }: ChartProps): uPlot.AlignedData {
  // Buckets stand side by side, however long each is: months differ, and ranges cut their first and last.
  const places = starts.map((_, bucket) => bucket);
  if (kind !== "stacked") return [places, ...series.map(({ values }) => [...values])];
  const sums = starts.map(() => 0);
  const stacked = series.map(({ values, is_ghost }) =>
    values.map((value, i) => {
      if (is_ghost || value === null) return value;
      sums[i] = (sums[i] ?? 0) + value;
      return sums[i] ?? 0;
    }),
  );
  return [places, ...drawnOrder(stacked, series)];
}

/** Bars that stand on one another are drawn from the highest sum down, comparisons over them. */
function drawnOrder<T>(of: readonly T[], series: readonly Series[]): T[] {
  const ghosts = of.filter((_, i) => series[i]?.is_ghost);
  return [...of.filter((_, i) => !series[i]?.is_ghost).toReversed(), ...ghosts];
}

function optionsOf(
  latest: { current: ChartProps },
  width: number,
  height: number,
  show: (at: number | undefined) => void,
): uPlot.Options {
  const { kind, series, starts, nameValue, is_share = false } = latest.current;
  const style = getComputedStyle(document.documentElement);
  const soft = style.getPropertyValue("--soft").trim();
  const ink = style.getPropertyValue("--ink").trim();
  const line = style.getPropertyValue("--line").trim();
  const order = series.map((one, i) => ({ ...one, colour: one.colour ?? i }));
  const drawn = kind === "stacked" ? drawnOrder(order, series) : order;
  const bars = uPlot.paths.bars?.({ size: [0.8, 60] });
  const axis = {
    stroke: soft,
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1 },
    font: "12px system-ui",
  };
  return {
    width,
    height,
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: latest.current.onZoom !== undefined, y: false, setScale: false },
    },
    scales: {
      x: { time: false, range: () => [-0.5, starts.length - 0.5] },
      y: { range: (_, low, high) => [Math.min(0, low), high <= 0 && low >= 0 ? 1 : high * 1.05] },
    },
    axes: [
      {
        ...axis,
        size: 32,
        grid: { show: false },
        splits: (plot) => tickPlaces(starts, plot.bbox.width / devicePixelRatio),
        values: (_, ticks) => ticks.map((place) => latest.current.nameTick(starts[place] ?? 0)),
      },
      {
        ...axis,
        size: 64,
        values: (_, ticks) =>
          ticks.map((tick) => (is_share ? (nameValue?.(tick, 0, 0) ?? "") : shortNumber(tick))),
      },
    ],
    series: [
      {},
      ...drawn.map(({ name, is_ghost = false, colour }): uPlot.Series => {
        const stroke = colourOf(colour);
        const is_bar = kind !== "line" && !is_ghost;
        return {
          label: name,
          stroke: is_ghost ? ink : stroke,
          width: is_bar ? 0 : 2,
          points: { show: starts.length === 1 },
          ...(is_ghost && { dash: [4, 4] }),
          ...(is_bar && { fill: stroke }),
          ...(is_bar && bars && { paths: bars }),
        };
      }),
    ],
    hooks: {
      setCursor: [({ cursor }) => show(cursor.idx ?? undefined)],
      setSelect: [
        (plot) => {
          const { left, width: chosen } = plot.select;
          if (chosen < 6) return;
          const from = plot.posToIdx(left);
          const to = plot.posToIdx(left + chosen);
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          latest.current.onZoom?.(from, to);
        },
      ],
      draw: [(plot) => shade(plot, latest.current, line)],
    },
  };
}

/** Hatches buckets that are not over, and shades those that are not read. */
function shade(plot: uPlot, props: ChartProps, line: string): void {
  const { starts, partial_from, partial_before = 0, unread_before } = props;
  const { ctx, bbox } = plot;
  const leftOf = (bucket: number) => plot.valToPos(bucket - 0.5, "x", true);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  if (unread_before !== undefined && unread_before > 0) {
    ctx.globalAlpha = 0.5;
    ctx.fillStyle = line;
    ctx.fillRect(bbox.left, bbox.top, leftOf(unread_before) - bbox.left, bbox.height);
  }
  const hatched = [
    [0, partial_before],
    [partial_from ?? starts.length, starts.length],
  ] as const;
  for (const [from, to] of hatched) if (from < to) hatch(plot, leftOf(from), leftOf(to), line);
  ctx.restore();
}

/** Fills a part of a chart with slanted lines. */
function hatch({ ctx, bbox }: uPlot, left: number, right: number, line: string): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, bbox.top, right - left, bbox.height);
  ctx.clip();
  ctx.globalAlpha = 1;
  ctx.strokeStyle = line;
  ctx.lineWidth = 1;
  const step = 6 * devicePixelRatio;
  for (let at = left - bbox.height; at < right; at += step) {
    ctx.beginPath();
    ctx.moveTo(at, bbox.top + bbox.height);
    ctx.lineTo(at + bbox.height, bbox.top);
    ctx.stroke();
  }
  ctx.restore();
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
