import type { Decimal } from "../../core/money.ts";
import type { Aggregation } from "../meter.ts";
import { addExactly, divideExactly, type Millionths, narrow } from "../meter_reader.ts";
import type { TotalWindow } from "../running_totals.ts";
import { type MemberHash, MemberSet } from "./member_set.ts";

/**
 * What the values of a window and group come to, so that more can be added in any order, and two of different events be
 * put together. All have one small shape: there is one for every limit.
 */
export class Tally {
  /** The sum, the smallest, the largest or the latest value; null while there is none. A count is a sum of ones. */
  value: Millionths | null = null;
  /** Of `weighted_sum` Σ value × ms since the window's start, of `latest` the event, of `unique` the texts. */
  more: Millionths | LastEvent | MemberSet | null = null;
}

/** The event that has the latest value. */
export interface LastEvent {
  readonly timestamp: number;
  readonly id: string;
}

/** Adds an event's value, of any aggregation but `unique`. `start_ms`: that of the window. */
export function addValue(
  tally: Tally,
  aggregation: Aggregation,
  value: Millionths,
  event: LastEvent,
  start_ms: number,
): void {
  if (aggregation === "latest") return keepLatest(tally, value, event);
  combine(tally, aggregation, value);
  if (aggregation === "weighted_sum") addMoment(tally, times(value, event.timestamp - start_ms));
}

export function addMember(tally: Tally, hash: MemberHash): void {
  if (tally.more instanceof MemberSet) return tally.more.add(hash);
  tally.more = new MemberSet();
  tally.more.add(hash);
}

/** Adds the tally of other events of the same window. */
export function addTally(tally: Tally, aggregation: Aggregation, other: Tally): void {
  const { value, more } = other;
  if (more instanceof MemberSet) {
    if (tally.more instanceof MemberSet) tally.more.addAll(more);
    else tally.more = more;
  } else if (value !== null) {
    if (isEvent(more)) return keepLatest(tally, value, more);
    combine(tally, aggregation, value);
    if (more !== null) addMoment(tally, more);
  }
}

/** Whether it is the event of a latest value. */
export function isEvent(more: Tally["more"]): more is LastEvent {
  return typeof more === "object" && more !== null && !(more instanceof MemberSet);
}

function addMoment(tally: Tally, moment: Millionths): void {
  tally.more = addExactly(momentOf(tally), moment);
}

function momentOf({ more }: Tally): Millionths {
  return typeof more === "number" || typeof more === "bigint" ? more : 0;
}

function combine(tally: Tally, aggregation: Aggregation, value: Millionths): void {
  const before = tally.value;
  if (before === null) tally.value = value;
  else if (aggregation === "min") tally.value = value < before ? value : before;
  else if (aggregation === "max") tally.value = value > before ? value : before;
  else tally.value = addExactly(before, value);
}

function keepLatest(tally: Tally, value: Millionths, { timestamp, id }: LastEvent): void {
  const { more } = tally;
  const is_later =
    !isEvent(more) || timestamp > more.timestamp || (timestamp === more.timestamp && id > more.id);
  if (!is_later) return;
  tally.value = value;
  tally.more = { timestamp, id };
}

function times(value: Millionths, by: number): Millionths {
  const product = typeof value === "number" ? value * by : Number.NaN;
  return Number.isSafeInteger(product) ? product : narrow(BigInt(value) * BigInt(by));
}

/** The quantity of a window, as `Measured`; `before`: of what goes over from earlier ones, of levels and `carry_over`. */
export function quantityOf(
  aggregation: Aggregation,
  tally: Tally | undefined,
  { start_ms, end_ms, whole_ms }: TotalWindow,
  before: Tally | undefined,
): Decimal {
  if (aggregation === "unique") return String(tally?.more instanceof MemberSet ? tally.more.size : 0);
  if (aggregation !== "weighted_sum") return decimalOf(tally?.value ?? before?.value ?? 0);
  // The level at the end, for the whole window, less what came later than its start.
  const level = BigInt(tally?.value ?? 0) + BigInt(before?.value ?? 0);
  const area = level * BigInt(end_ms - start_ms) - BigInt(tally === undefined ? 0 : momentOf(tally));
  return decimalOf(divideExactly(area, BigInt(whole_ms)));
}

/** The plain decimal of millionths: -500000 → `-0.5`. */
function decimalOf(millionths: Millionths): Decimal {
  const digits = String(millionths).replace("-", "").padStart(7, "0");
  const fraction = digits.slice(-6).replace(/0+$/, "");
  const size = fraction === "" ? digits.slice(0, -6) : `${digits.slice(0, -6)}.${fraction}`;
  return millionths < 0 ? `-${size}` : size;
}
