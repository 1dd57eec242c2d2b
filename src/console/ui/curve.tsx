import {
  areaOf,
  heightNumbers,
  heightScale,
  linePath,
  Plot,
  roundNumbers,
  scaleOf,
  useWidth,
} from "./plot.tsx";

const HEIGHT = 220;
/** The least width between two names of the axis below. */
const TICK_WIDTH_PX = 80;

/** A curve over a quantity, such as a month's total over its units. Its points ascend. */
export function Curve(props: {
  points: readonly { x: number; y: number }[];
  sentence: string;
  nameX: (x: number) => string;
  nameY: (y: number) => string;
}) {
  const { points, sentence, nameX, nameY } = props;
  const [place, width] = useWidth();
  const area = areaOf(width, HEIGHT);
  const { left, right } = area;
  const [first, last] = [points[0]?.x ?? 0, points.at(-1)?.x ?? 0];
  const heights = points.map(({ y }) => y);
  const low = Math.min(0, ...heights);
  const high = Math.max(...heights) * 1.05 || 1;
  const xOf = scaleOf(first, last, left, right);
  const yOf = heightScale(low, high, area);
  return (
    <figure class="chart">
      <div ref={place} class="plot" aria-hidden="true">
        <Plot
          area={area}
          below={roundNumbers(first, last, Math.floor((right - left) / TICK_WIDTH_PX)).map((x) => ({
            at: xOf(x),
            name: nameX(x),
          }))}
          beside={heightNumbers(low, high, area).map((y) => ({ at: yOf(y), name: nameY(y) }))}
        >
          <path class="line s0" d={linePath(points.map(({ x, y }) => [xOf(x), yOf(y)]))} />
        </Plot>
      </div>
      <figcaption>{sentence}</figcaption>
    </figure>
  );
}
