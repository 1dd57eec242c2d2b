import { join } from "node:path";
import { type Results, readResults } from "./results.ts";
import { median } from "./stats.ts";
import { ms } from "./table.ts";

const FOLDER = join(import.meta.dir, "../docs/benchmarks");

/** The searches that are drawn as the store grows, and what they are called beside their lines. */
const GROWING = new Map([
  ["first page, large company", "newest events"],
  ["aggregate by day over 30 days, large company", "sums by day, 30 days"],
  ["aggregate by day, all time, large company", "sums by day, all time"],
  ["aggregate by client, all time, large company", "sums by client, all time"],
  ["aggregate by a metadata key, all time, large company", "sums by a metadata key"],
]);
const BESIDE = ", beside other engines";

/** Points of the plane, in the units of the data. */
export interface Line {
  label: string;
  points: readonly (readonly [x: number, y: number])[];
}

/** One question, and the time that each engine takes for it. */
export interface Row {
  label: string;
  values: ReadonlyMap<string, number>;
}

/** Draws the plots of the benchmarks' page again, from the results that are kept beside it. */
export async function writePlots(): Promise<void> {
  const files = [...new Bun.Glob("*.json").scanSync(FOLDER)].map((name) => join(FOLDER, name));
  for (const [name, svg] of drawPlots(files.map(readResults))) {
    await Bun.write(join(FOLDER, name), svg);
    console.log(join("docs/benchmarks", name));
  }
}

/** The plots of runs of `usage` with different numbers of events, by the names of their files. */
export function drawPlots(results: readonly Results[]): Map<string, string> {
  const runs = results.filter(({ bench }) => bench === "usage").toSorted((a, b) => a.size - b.size);
  const compared = runs.findLast((run) => rowsOf(run).length > 0);
  if (compared === undefined)
    throw new Error("Cannot plot: there are no results of `usage` beside other engines");
  const beside = `The same questions on other engines, ${million(compared.size)} events`;
  return new Map([
    ["growth.svg", plotLines("Time of an answer by the number of stored events", linesOf(runs))],
    ["engines.svg", plotRows(beside, rowsOf(compared))],
  ]);
}

function linesOf(runs: readonly Results[]): Line[] {
  return [...GROWING].map(([what, label]) => ({
    label,
    points: runs.flatMap(({ size, findings }) => {
      const values = findings.find((one) => one.what === what)?.figures[0]?.values;
      return values === undefined ? [] : [[size, median(values)] as const];
    }),
  }));
}

function rowsOf({ findings }: Results): Row[] {
  return findings
    .filter(({ what }) => what.endsWith(BESIDE))
    .map(({ what, figures, peers }) => ({
      label: what.slice(0, -BESIDE.length),
      values: new Map(
        [{ ...figures[0], name: "Meterhouse" }, ...peers].map(({ name, values = [] }) => [
          name,
          median(values),
        ]),
      ),
    }));
}

const WIDTH = 760;
const CHARACTER = 6.6;
/** Told apart also without colours, by their marks. */
const MARKS = 5;

/** Lines over two logarithmic axes: events to the right, milliseconds up. */
export function plotLines(title: string, lines: readonly Line[]): string {
  const drawn = lines.filter(({ points }) => points.length > 0);
  const all = drawn.flatMap(({ points }) => points);
  const frame = { left: 90, right: WIDTH - 190, top: 50, bottom: 360 };
  const x = logScale(
    all.map(([size]) => size),
    frame.left + 12,
    frame.right - 12,
  );
  const y = logScale(
    all.map(([, value]) => value),
    frame.bottom,
    frame.top,
  );
  const grid = [
    ...y.ticks.map((tick) => {
      const at = y.at(tick);
      return `${stroke(frame.left, at, frame.right, at, "grid")}${label(frame.left - 8, at + 4, `${tick.toLocaleString("en-US")} ms`, "end")}`;
    }),
    ...x.ticks.map((tick) => label(x.at(tick), frame.bottom + 20, million(tick), "middle")),
    label((frame.left + frame.right) / 2, frame.bottom + 40, "stored events", "middle"),
  ];
  const ends = spaced(drawn.map(({ points }) => y.at(points.at(-1)?.[1] ?? 1)));
  const curves = drawn.map((line, i) => {
    const at = line.points.map(([size, value]) => [x.at(size), y.at(value)] as const);
    const [last = 0] = at.at(-1) ?? [];
    const path = at.map(([px, py]) => `${fixed(px)},${fixed(py)}`).join(" ");
    return `<polyline class="c${i % MARKS} line" points="${path}"/>${at.map(([px, py]) => mark(i, px, py)).join("")}${label(last + 12, (ends[i] ?? 0) + 4, line.label)}`;
  });
  return picture(title, frame.bottom + 55, [...grid, ...curves]);
}

/** Rows of marks over one logarithmic axis of milliseconds, with a legend. */
export function plotRows(title: string, rows: readonly Row[]): string {
  const names = [...new Set(rows.flatMap(({ values }) => [...values.keys()]))];
  const widest = Math.max(0, ...rows.map((row) => row.label.length)) * CHARACTER;
  const frame = { left: widest + 30, right: WIDTH - 50, top: 80, step: 26 };
  const bottom = frame.top + rows.length * frame.step;
  const x = logScale(
    rows.flatMap(({ values }) => [...values.values()]),
    frame.left + 10,
    frame.right,
  );
  let legend_x = 16;
  const legend = names.map((name, i) => {
    const at = legend_x;
    legend_x += name.length * CHARACTER + 40;
    return mark(i, at + 6, 56) + label(at + 16, 60, name);
  });
  const grid = x.ticks.map((tick) => {
    const at = x.at(tick);
    return `${stroke(at, frame.top - 8, at, bottom, "grid")}${label(at, bottom + 18, `${tick.toLocaleString("en-US")} ms`, "middle")}`;
  });
  const marks = rows.map(({ label: text, values }, row) => {
    const at = frame.top + (row + 0.5) * frame.step;
    // The first name is drawn last, above the others.
    const points = names.map((name, i) => {
      const value = values.get(name);
      return value === undefined
        ? ""
        : `<g><title>${escape(name)}: ${ms(value)} ms</title>${mark(i, x.at(value), at)}</g>`;
    });
    return `${stroke(frame.left, at, frame.right, at, "row")}${label(frame.left - 12, at + 4, text, "end")}${points.toReversed().join("")}`;
  });
  return picture(title, bottom + 35, [...legend, ...grid, ...marks]);
}

/** A logarithmic scale over whole powers of ten around the values. */
export function logScale(
  values: readonly number[],
  from: number,
  to: number,
): { ticks: number[]; at: (value: number) => number } {
  const known = values.filter((value) => value > 0);
  const low = known.length === 0 ? 0 : Math.floor(Math.log10(Math.min(...known)) + 1e-9);
  const high = Math.max(low + 1, known.length === 0 ? 1 : Math.ceil(Math.log10(Math.max(...known)) - 1e-9));
  const ticks = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i));
  return { ticks, at: (value) => from + ((Math.log10(value) - low) / (high - low)) * (to - from) };
}

/** Heights of labels, moved apart where they would cover each other. */
function spaced(heights: readonly number[], gap = 16): number[] {
  const order = heights.map((height, i) => ({ height, i })).toSorted((a, b) => a.height - b.height);
  const moved: number[] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (const { height, i } of order) {
    last = Math.max(height, last + gap);
    moved[i] = last;
  }
  return moved;
}

/** A mark of a series: circle, square, diamond, triangle, ring. */
function mark(series: number, x: number, y: number): string {
  const [px, py] = [fixed(x), fixed(y)];
  const of = `class="c${series % MARKS}"`;
  const polygon = (...points: [number, number][]) =>
    `<polygon ${of} points="${points.map(([dx, dy]) => `${fixed(x + dx)},${fixed(y + dy)}`).join(" ")}"/>`;
  if (series % MARKS === 1)
    return `<rect ${of} x="${fixed(x - 4.5)}" y="${fixed(y - 4.5)}" width="9" height="9"/>`;
  if (series % MARKS === 2) return polygon([0, -6], [6, 0], [0, 6], [-6, 0]);
  if (series % MARKS === 3) return polygon([0, -6], [6, 5], [-6, 5]);
  if (series % MARKS === 4) return `<circle class="c4 line" cx="${px}" cy="${py}" r="4.5"/>`;
  return `<circle ${of} cx="${px}" cy="${py}" r="5.5"/>`;
}

const stroke = (x1: number, y1: number, x2: number, y2: number, of: string) =>
  `<line class="${of}" x1="${fixed(x1)}" y1="${fixed(y1)}" x2="${fixed(x2)}" y2="${fixed(y2)}"/>`;

const label = (x: number, y: number, text: string, anchor = "start") =>
  `<text x="${fixed(x)}" y="${fixed(y)}" text-anchor="${anchor}">${escape(text)}</text>`;

const fixed = (value: number) => `${Number(value.toFixed(1))}`;

const million = (count: number) => (count >= 1e6 ? `${count / 1e6} million` : count.toLocaleString("en-US"));

const escape = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** The colours on light and dark grounds; a ground of its own keeps it readable wherever it is shown. */
const STYLE = `text{font:12px system-ui,sans-serif;fill:#333}.title{font-weight:600;font-size:14px}.ground{fill:#fff}
.grid{stroke:#ddd}.row{stroke:#eee}.line{fill:none;stroke-width:2}
.c0{fill:#0b62c4;stroke:#0b62c4}.c1{fill:#b3430f;stroke:#b3430f}.c2{fill:#1c7a3e;stroke:#1c7a3e}
.c3{fill:#8a3fa8;stroke:#8a3fa8}.c4{fill:#7a6200;stroke:#7a6200}.c0.line,.c1.line,.c2.line,.c3.line,.c4.line{fill:none}
@media(prefers-color-scheme:dark){text{fill:#ddd}.ground{fill:#0d1117}.grid{stroke:#333}.row{stroke:#222}
.c0{fill:#6cb0ff;stroke:#6cb0ff}.c1{fill:#ff9a5c;stroke:#ff9a5c}.c2{fill:#5ccf86;stroke:#5ccf86}
.c3{fill:#d59cf0;stroke:#d59cf0}.c4{fill:#e0c34a;stroke:#e0c34a}}`;

function picture(title: string, height: number, parts: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img">
<title>${escape(title)}</title>
<style>${STYLE}</style>
<rect class="ground" width="${WIDTH}" height="${height}"/>
<text class="title" x="16" y="26">${escape(title)}</text>
${parts.join("\n")}
</svg>
`;
}
