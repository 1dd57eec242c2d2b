import type { MeterTerms } from "../meter.ts";
import { type Millionths, narrow } from "../meter_reader.ts";
import type { Watch } from "../running_totals.ts";
import { MemberSet } from "./member_set.ts";
import { Tally } from "./tally.ts";
import { Cell, type TotalsRule, WindowTotals } from "./window_totals.ts";

/** A tally as it is written down, its fields in their order; members in base64. */
type StoredTally = [
  group: string | null,
  events: number,
  value: string | null,
  moment: string,
  last_ms: number,
  last_id: string,
  members: string | null,
];

/** Totals of a watch as they are written down. */
export interface StoredTotals {
  /** What is totaled, as `identityOf`. */
  identity: string;
  /** The totals are of all events up to this number. */
  seq: number;
  floor_ms: number;
  cells: [start_ms: number, end_ms: number, whole_ms: number, tallies: StoredTally[]][];
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

export function writeTotals(rule: TotalsRule, totals: WindowTotals, seq: number): StoredTotals {
  return {
    identity: identityOf(rule.watch),
    seq,
    floor_ms: totals.floor_ms,
    cells: totals.cells.map((cell) => [
      cell.start_ms,
      cell.end_ms,
      cell.whole_ms,
      cell.entries().map(([group, tally]) => writeTally(group, tally)),
    ]),
  };
}

function writeTally(
  group: string | null,
  { events, value, moment, last_ms, last_id, members }: Tally,
): StoredTally {
  const words = members?.words();
  return [
    group,
    events,
    value === null ? null : String(value),
    String(moment),
    last_ms,
    last_id,
    words === undefined ? null : Buffer.from(words.buffer).toString("base64"),
  ];
}

export function readTotals(rule: TotalsRule, { floor_ms, cells }: StoredTotals): WindowTotals {
  const totals = new WindowTotals(rule, floor_ms);
  for (const [start_ms, end_ms, whole_ms, tallies] of cells) {
    const cell = new Cell({ start_ms, end_ms, whole_ms });
    for (const [group, ...stored] of tallies) cell.set(rule.has_groups, group, readTally(stored));
    totals.addCell(cell);
  }
  return totals;
}

function readTally([events, value, moment, last_ms, last_id, members]: TallyFields): Tally {
  const tally = new Tally();
  tally.events = events;
  tally.value = value === null ? null : readMillionths(value);
  tally.moment = readMillionths(moment);
  tally.last_ms = last_ms;
  tally.last_id = last_id;
  if (members !== null)
    tally.members = MemberSet.from(new Uint32Array(new Uint8Array(Buffer.from(members, "base64")).buffer));
  return tally;
}

type TallyFields = StoredTally extends [unknown, ...infer Fields] ? Fields : never;

function readMillionths(text: string): Millionths {
  return narrow(BigInt(text));
}
