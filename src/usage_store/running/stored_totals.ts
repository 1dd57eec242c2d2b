import type { MeterTerms } from "../meter.ts";
import { type Millionths, narrow } from "../meter_reader.ts";
import type { Watch } from "../running_totals.ts";
import { MemberSet } from "./member_set.ts";
import { isEvent, type Tally } from "./tally.ts";
import { Cell, type LeftOut, type TotalsRule, WindowTotals } from "./window_totals.ts";

/** A tally as it is written down: numbers as text, a latest event, or members in base64. */
type StoredTally = [
  group: string | null,
  value: string | null,
  more: string | [timestamp: number, id: string] | { members: string } | null,
];

/** Totals of a watch as they are written down. */
export interface StoredTotals {
  /** What is totaled, as `identityOf`. */
  identity: string;
  /** The totals are of all events up to this number. */
  seq: number;
  floor_ms: number;
  cells: [start_ms: number, end_ms: number, tallies: StoredTally[], left_out?: LeftOut | null][];
}

/** What makes watches the same in another process. */
export function identityOf({ company_id, subscription_id, meter, per, since_ms, calendar }: Watch): string {
  return JSON.stringify([company_id, subscription_id, termsOf(meter), per, since_ms, calendar.name]);
}

/** A meter's terms as text, whatever the order of their fields. */
export function termsOf({ aggregation, value, filters, percentile, carry_over }: MeterTerms): string {
  const terms = value.map(({ key, times }) => [key, times]);
  const conditions = filters.map(({ key, op, values }) => [key, op, values]);
  return JSON.stringify([aggregation, terms, conditions, percentile, carry_over]);
}

/**
 * Whether what was written down holds the windows of present totals: its cells that are not before these are windows of
 * their calendar. Else an earlier process cut time otherwise, as where a runtime brings other rules of a time zone.
 */
export function isCutBy(
  { floor_ms, cells }: StoredTotals,
  { floor_ms: present_ms, watch }: Pick<WindowTotals, "floor_ms" | "watch">,
): boolean {
  if (floor_ms > present_ms) return false;
  return cells.every(([start_ms, end_ms]) => {
    if (end_ms <= present_ms) return true;
    const window = watch.calendar.at(Math.max(start_ms, present_ms));
    return window.start_ms === start_ms && window.end_ms === end_ms;
  });
}

export function writeTotals(totals: WindowTotals, seq: number): StoredTotals {
  return {
    identity: identityOf(totals.watch),
    seq,
    floor_ms: totals.floor_ms,
    cells: totals.cells.map(writeCell),
  };
}

function writeCell(cell: Cell): StoredTotals["cells"][number] {
  const { start_ms, end_ms, left_out } = cell;
  const tallies = [...cell.entries].map(
    ([group, { value, more }]): StoredTally => [group, value === null ? null : String(value), write(more)],
  );
  return left_out === null ? [start_ms, end_ms, tallies] : [start_ms, end_ms, tallies, left_out];
}

function write(more: Tally["more"]): StoredTally[2] {
  if (more === null) return null;
  if (more instanceof MemberSet) return { members: Buffer.from(more.words().buffer).toString("base64") };
  return isEvent(more) ? [more.timestamp, more.id] : String(more);
}

export function readTotals(watch: Watch, rule: TotalsRule, { floor_ms, cells }: StoredTotals): WindowTotals {
  const totals = new WindowTotals(watch, rule, floor_ms);
  for (const [start_ms, end_ms, tallies, left_out = null] of cells) {
    const cell = new Cell({ start_ms, end_ms });
    for (const [group, value, more] of tallies) {
      const tally = rule.has_groups ? cell.tallyOf(group) : cell.tally;
      if (tally === undefined) continue;
      tally.value = value === null ? null : readMillionths(value);
      tally.more = read(more);
    }
    cell.leaveOut(left_out);
    totals.addCell(cell);
  }
  return totals;
}

function read(more: StoredTally[2]): Tally["more"] {
  if (more === null) return null;
  if (typeof more === "string") return readMillionths(more);
  if (Array.isArray(more)) return { timestamp: more[0], id: more[1] };
  return MemberSet.from(new Uint32Array(Uint8Array.fromBase64(more.members).buffer));
}

function readMillionths(text: string): Millionths {
  return narrow(BigInt(text));
}
