import { listPoints } from "../points.ts";
import type { Target } from "../target.ts";
import { listRecords, type RecordName } from "./record.ts";

/** The instants of a point's log that can be restored: from its base to what was shipped last, without a gap. */
export interface LogRange {
  readonly point: string;
  readonly from: string;
  readonly to: string;
  /** The records from the base on. */
  readonly records: readonly RecordName[];
}

/** Cuts a point's records where a base begins, or one is missing. */
export function rangesOf(point: string, records: readonly RecordName[]): LogRange[] {
  const chains: RecordName[][] = [];
  let open: RecordName[] | undefined;
  for (const record of records) {
    if (record.kind === "base") chains.push((open = [record]));
    else if (open && open.at(-1)?.n === record.n - 1) open.push(record);
    else open = undefined;
  }
  return chains.flatMap((chain) => {
    const [first, last] = [chain[0], chain.at(-1)];
    return first && last ? [{ point, from: first.instant, to: last.instant, records: chain }] : [];
  });
}

/** All ranges at a target, or those of one point. Errors: those of the target. */
export async function listRanges(
  target: Pick<Target, "list">,
  points?: readonly string[],
): Promise<LogRange[]> {
  const found: LogRange[] = [];
  for (const point of points ?? (await listPoints(target)))
    found.push(...rangesOf(point, await listRecords(target, point)));
  return found;
}

/** `A to B, C to D`: ranges without a gap between them as one. */
export function describeRanges(ranges: readonly LogRange[]): string {
  const joined: { from: string; to: string }[] = [];
  for (const { from, to } of ranges.toSorted((a, b) => (a.from < b.from ? -1 : 1))) {
    const last = joined.at(-1);
    if (last && from <= last.to) last.to = to > last.to ? to : last.to;
    else joined.push({ from, to });
  }
  return joined.length === 0 ? "none" : joined.map(({ from, to }) => `${from} to ${to}`).join(", ");
}
