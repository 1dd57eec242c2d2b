import type { ComponentChildren, RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** Pixels around what is drawn: room for the names of both axes. */
const MARGIN = { left: 64, top: 8, right: 8, bottom: 32 };
/** The least height between two names of the axis at the left. */
const TICK_HEIGHT_PX = 40;
/** About half the width of a character of a tick's name. */
const HALF_CHARACTER_PX = 3.5;

/** Where a plot draws, in pixels of its picture. */
export interface Area {
  width: number;
  height: number;
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export function areaOf(width: number, height: number): Area {
  return {
    width,
    height,
    left: MARGIN.left,
    top: MARGIN.top,
    right: Math.max(MARGIN.left, width - MARGIN.right),
    bottom: height - MARGIN.bottom,
  };
}

/** How wide an element is, now and whenever that changes; 0 until it is there. */
export function useWidth(): [RefObject<HTMLDivElement | null>, number] {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const measure = () => setWidth(element.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [place, width];
}

/** Values over pixels, linear; what has no extent stands at its beginning. */
export function scaleOf(low: number, high: number, from_px: number, to_px: number) {
  const factor = high === low ? 0 : (to_px - from_px) / (high - low);
  return (value: number): number => from_px + (value - low) * factor;
}

/** Values over the height of an area. */
export const heightScale = (low: number, high: number, { top, bottom }: Area) =>
  scaleOf(low, high, bottom, top);

/** Round numbers within a range, at most so many: in steps of 1, 2 or 5 times a power of ten. */
export function roundNumbers(low: number, high: number, most: number): number[] {
  const least = (high - low) / Math.max(1, most);
  if (!(least > 0) || !Number.isFinite(least)) return [low];
  const power = Math.floor(Math.log10(least));
  const size = [1, 2, 5, 10].find((one) => one * 10 ** power >= least) ?? 10;
  // Tenths are divided by tens: a sum of 0.1 is not 0.3 in binary.
  const at = (n: number) => (power < 0 ? (n * size) / 10 ** -power : n * size * 10 ** power);
  const step = at(1);
  const numbers: number[] = [];
  for (let n = Math.ceil(low / step); at(n) <= high; n++) numbers.push(at(n));
  return numbers;
}

/** The round numbers that an axis at the left has room for. */
export const heightNumbers = (low: number, high: number, { top, bottom }: Area): number[] =>
  roundNumbers(low, high, Math.floor((bottom - top) / TICK_HEIGHT_PX));

/** A name on an axis. */
interface Tick {
  /** Its pixel. */
  at: number;
  name: string;
}

/** Half of a name's width. */
const room = (name: string): number => name.length * HALF_CHARACTER_PX;

/** The picture of a plot: its axes, and inside of them what is drawn. Those who see nothing are told elsewhere. */
export function Plot(props: {
  area: Area;
  below: readonly Tick[];
  beside: readonly Tick[];
  children: ComponentChildren;
}) {
  const { area, below, beside, children } = props;
  const { width, height, left, right, bottom } = area;
  return (
    <svg class="drawing" width={width} height={height}>
      <path class="grid" d={beside.map(({ at }) => `M${left} ${Math.round(at) + 0.5}H${right}`).join("")} />
      {children}
      <path class="grid" d={below.map(({ at }) => `M${Math.round(at) + 0.5} ${bottom}v5`).join("")} />
      {beside.map(({ at, name }) => (
        <text key={name} x={left - 8} y={at} dy="0.32em" text-anchor="end">
          {name}
        </text>
      ))}
      {below.map(({ at, name }) => (
        <text
          key={at}
          x={Math.max(room(name), Math.min(width - room(name), at))}
          y={bottom + 20}
          text-anchor="middle"
        >
          {name}
        </text>
      ))}
    </svg>
  );
}

/** A line through points, open where there is none; a point alone is a ring. */
export function linePath(points: readonly (readonly [x: number, y: number] | null)[]): string {
  return points
    .map((point, i) => {
      if (point === null) return "";
      const [x, y] = point.map((px) => px.toFixed(1));
      if (points[i - 1]) return `L${x} ${y}`;
      return points[i + 1] ? `M${x} ${y}` : `M${x} ${y}m-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0`;
    })
    .join("");
}
