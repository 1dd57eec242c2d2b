import type { Results } from "./results.ts";
import { median } from "./stats.ts";
import { factor, printTable, round } from "./table.ts";

type Saved = Results["findings"][number];
type Figure = Saved["figures"][number];

const HEAD = ["What", "Before", "After", "After / before", "Peer, after / before", "Differs?"];

/**
 * A later run beside an earlier one, as a table: medians with the range of their rounds. They differ when the medians
 * are further apart than the rounds of either run. Errors: throws for results of different benches.
 */
export function compare(before: Results, after: Results): string {
  refuseOther(before, after.bench);
  const older = new Map(before.findings.map((one) => [one.what, one]));
  const lines = after.findings.flatMap((line) => compareLine(older.get(line.what), line));
  const names = new Set(after.findings.map(({ what }) => what));
  const left = before.findings.filter(({ what }) => !names.has(what)).length;
  return `Beside ${describe(before)}${mismatches(before, after)}

${printTable([HEAD, ...lines])}

Differs: the medians are further apart than the rounds of either run.${left > 0 ? ` Lines measured only before: ${left}.` : ""}`;
}

/** Errors: throws for results of another bench. */
export function refuseOther({ bench }: Results, wanted: string): void {
  if (bench === wanted) return;
  throw new Error(`Cannot compare: the earlier run is one of ${bench}, this is one of ${wanted}`);
}

function describe({ size, machine, findings }: Results): string {
  const days = findings.map(({ measured_at }) => measured_at.slice(0, 10)).toSorted();
  const [first = "no day", last] = [days[0], days.at(-1)];
  return `a run of size ${size.toLocaleString("en-US")}, ${first === last ? first : `${first} to ${last}`} (${machine}).`;
}

/** What makes the figures of two runs incomparable, in words. */
function mismatches(before: Results, after: Results): string {
  const hardware = before.hardware === after.hardware ? "" : ` **Now other hardware:** ${after.hardware}.`;
  const size =
    before.size === after.size ? "" : ` **Now another size:** ${after.size.toLocaleString("en-US")}.`;
  return hardware + size;
}

function compareLine(before: Saved | undefined, after: Saved): string[][] {
  return after.figures.map((figure) => {
    const what = after.figures.length > 1 ? `${after.what}: ${figure.name}` : after.what;
    const older = sameFigure(before?.figures, figure);
    if (older === undefined) return [what, "–", cell(figure), "–", "–", "new"];
    const ratio = median(figure.values) / median(older.values);
    return [what, cell(older), cell(figure), times(ratio), peerCell(before, after), differs(older, figure)];
  });
}

const sameFigure = (figures: readonly Figure[] | undefined, { name, unit }: Figure) =>
  figures?.find((one) => one.name === name && one.unit === unit);

/** How the peers' own figures moved: the machine's share of a difference. */
function peerCell(before: Saved | undefined, after: Saved): string {
  const ratios = after.peers.flatMap((peer) => {
    const older = sameFigure(before?.peers, peer);
    return older === undefined ? [] : [median(peer.values) / median(older.values)];
  });
  if (ratios.length === 0) return "–";
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)].map(times);
  return least === most ? `${least}` : `${least} to ${most}`;
}

/** Whether two figures are further apart than the rounds of either, and in which direction. */
export function differs(before: Figure, after: Figure): string {
  if (before.values.length < 2 || after.values.length < 2) return "unknown: one round";
  const more = median(after.values) - median(before.values);
  if (Math.abs(more) <= Math.max(rangeOf(before), rangeOf(after))) return "no";
  return more > 0 === after.unit.endsWith("/s") ? "yes, better" : "yes, worse";
}

const rangeOf = ({ values }: Figure) => Math.max(...values) - Math.min(...values);

const times = (ratio: number) => (Number.isFinite(ratio) ? `${factor(ratio)} ×` : "–");

function cell({ values, unit }: Figure): string {
  const middle = `${digits(median(values))} ${unit}`;
  return values.length < 2
    ? middle
    : `${middle} (${digits(Math.min(...values))} to ${digits(Math.max(...values))})`;
}

const digits = (value: number) => (Math.abs(value) >= 100 ? round(value) : `${Number(value.toPrecision(3))}`);
