import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { isDark } from "../app/theme.ts";

/** A curve over a quantity, such as a month's total over its units. */
export function Curve(props: {
  points: readonly { x: number; y: number }[];
  sentence: string;
  nameX: (x: number) => string;
  nameY: (y: number) => string;
}) {
  const { points, sentence, nameX, nameY } = props;
  const place = useRef<HTMLDivElement>(null);
  const is_dark = isDark.value;
  const text = JSON.stringify(points);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const style = getComputedStyle(document.documentElement);
    const [soft, line, stroke] = ["--soft", "--line", "--series-0"].map((name) =>
      style.getPropertyValue(name).trim(),
    );
    const axis = {
      stroke: soft ?? "",
      grid: { stroke: line ?? "", width: 1 },
      ticks: { stroke: line ?? "", width: 1 },
      font: "12px system-ui",
    };
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: 220,
        legend: { show: false },
        scales: { x: { time: false } },
        axes: [
          { ...axis, values: (_, ticks) => ticks.map(nameX) },
          { ...axis, size: 64, values: (_, ticks) => ticks.map(nameY) },
        ],
        series: [{}, { stroke: stroke ?? "", width: 2, points: { show: false } }],
      },
      [points.map(({ x }) => x), points.map(({ y }) => y)],
      element,
    );
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: 220 }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [text, is_dark]);
  return (
    <figure class="chart">
      <div ref={place} class="plot" aria-hidden="true" />
      <figcaption>{sentence}</figcaption>
    </figure>
  );
}
