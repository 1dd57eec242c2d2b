import type { Decimal } from "../../core/money.ts";
import type { Aggregation } from "../meter.ts";
import { addExactly, divideExactly, type Millionths, narrow } from "../meter_reader.ts";
import { type MemberHash, MemberSet } from "./member_set.ts";

/**
 * What the values of a window and group come to, so that more can be added in any order, and two of different events be
 * put together. Every aggregation has its own fields; all have the same shape, which is small and quick.
 */
export class Tally {
  /** Of `count` the events, else unused. */
  events = 0;
  /** The sum, the smallest, the largest or the latest value; null while there is none. */
  value: Millionths | null = null;
  /** Of `weighted_sum`: Σ value × ms since the window's start. */
  moment: Millionths = 0;
  /** Of `latest`: the event that has the value. */
  last_ms = 0;
  last_id = "";
  /** Of `unique`: the texts. */
  members: MemberSet | undefined;
}

/** An event's value and place in time. */
export interface Counted {
  value: Millionths;
  timestamp: number;
  id: string;
}

/** Adds an event's value, of any aggregation but `unique`. `start_ms`: that of the window. */
export function addValue(
  tally: Tally,
  aggregation: Aggregation,
  { value, timestamp, id }: Counted,
  start_ms: number,
): void {
  if (aggregation === "count") tally.events++;
  else if (aggregation === "latest") keepLatest(tally, value, timestamp, id);
  else {
    combine(tally, aggregation, value);
    if (aggregation === "weighted_sum")
      tally.moment = addExactly(tally.moment, times(value, timestamp - start_ms));
  }
}

export function addMember(tally: Tally, hash: MemberHash): void {
  (tally.members ??= new MemberSet()).add(hash);
}

/** Adds the tally of other events of the same window. */
export function addTally(tally: Tally, aggregation: Aggregation, other: Tally): void {
  tally.events += other.events;
  tally.moment = addExactly(tally.moment, other.moment);
  if (other.members !== undefined) {
    if (tally.members === undefined) tally.members = other.members;
    else tally.members.addAll(other.members);
  }
  if (other.value === null) return;
  if (aggregation === "latest") keepLatest(tally, other.value, other.last_ms, other.last_id);
  else combine(tally, aggregation, other.value);
}

function combine(tally: Tally, aggregation: Aggregation, value: Millionths): void {
  const before = tally.value;
  if (before === null) tally.value = value;
  else if (aggregation === "min") tally.value = value < before ? value : before;
  else if (aggregation === "max") tally.value = value > before ? value : before;
  else tally.value = addExactly(before, value);
}

function keepLatest(tally: Tally, value: Millionths, timestamp: number, id: string): void {
  const is_later = timestamp > tally.last_ms || (timestamp === tally.last_ms && id > tally.last_id);
  if (tally.value !== null && !is_later) return;
  tally.value = value;
  tally.last_ms = timestamp;
  tally.last_id = id;
}

function times(value: Millionths, by: number): Millionths {
  const product = typeof value === "number" ? value * by : Number.NaN;
  return Number.isSafeInteger(product) ? product : narrow(BigInt(value) * BigInt(by));
}

/** The quantity of a window, as `Measured`; `before`: of what goes over from earlier ones, of levels and `carry_over`. */
export function quantityOf(
  aggregation: Aggregation,
  tally: Tally | undefined,
  { start_ms, end_ms, whole_ms }: { start_ms: number; end_ms: number; whole_ms: number },
  before: Tally | undefined,
): Decimal {
  if (aggregation === "count") return String(tally?.events ?? 0);
  if (aggregation === "unique") return String(tally?.members?.size ?? 0);
  if (aggregation !== "weighted_sum") return decimalOf(tally?.value ?? before?.value ?? 0);
  // The level at the end, for the whole window, less what came later than its start.
  const level = BigInt(tally?.value ?? 0) + BigInt(before?.value ?? 0);
  const area = level * BigInt(end_ms - start_ms) - BigInt(tally?.moment ?? 0);
  return decimalOf(divideExactly(area, BigInt(whole_ms)));
}

/** The plain decimal of millionths: -500000 → `-0.5`. */
function decimalOf(millionths: Millionths): Decimal {
  const digits = String(millionths).replace("-", "").padStart(7, "0");
  const fraction = digits.slice(-6).replace(/0+$/, "");
  const size = fraction === "" ? digits.slice(0, -6) : `${digits.slice(0, -6)}.${fraction}`;
  return millionths < 0 ? `-${size}` : size;
}
