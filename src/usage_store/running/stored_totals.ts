import type { MeterTerms } from "../meter.ts";
import { type Millionths, narrow } from "../meter_reader.ts";
import type { Watch } from "../running_totals.ts";
import { MemberSet } from "./member_set.ts";
import { isEvent, type Tally } from "./tally.ts";
import { Cell, type TotalsRule, WindowTotals } from "./window_totals.ts";

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
  cells: [start_ms: number, end_ms: number, tallies: StoredTally[]][];
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

export function writeTotals(totals: WindowTotals, seq: number): StoredTotals {
  return {
    identity: identityOf(totals.watch),
    seq,
    floor_ms: totals.floor_ms,
    cells: totals.cells.map((cell) => [
      cell.start_ms,
      cell.end_ms,
      cell
        .entries()
        .map(([group, { value, more }]) => [group, value === null ? null : String(value), write(more)]),
    ]),
  };
}

function write(more: Tally["more"]): StoredTally[2] {
  if (more === null) return null;
  if (more instanceof MemberSet) return { members: Buffer.from(more.words().buffer).toString("base64") };
  return isEvent(more) ? [more.timestamp, more.id] : String(more);
}

export function readTotals(watch: Watch, rule: TotalsRule, { floor_ms, cells }: StoredTotals): WindowTotals {
  const totals = new WindowTotals(watch, rule, floor_ms);
  for (const [start_ms, end_ms, tallies] of cells) {
    const cell = new Cell({ start_ms, end_ms });
    for (const [group, value, more] of tallies) {
      const tally = rule.has_groups ? cell.tallyOf(group) : cell.tally;
      tally.value = value === null ? null : readMillionths(value);
      tally.more = read(more);
    }
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
