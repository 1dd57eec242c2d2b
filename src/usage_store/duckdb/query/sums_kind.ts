import type { Parameters } from "../engine/sql.ts";
import { DAY_MS, HOUR_MS } from "../../time_buckets.ts";
import { valueSql } from "./metadata_sql.ts";

/** What group sums of a company are by. */
export interface SumsKind {
  /** How long after UTC's days its own begin, in ms below DAY_MS; undefined for sums by hour of UTC. */
  day_start_ms?: number | undefined;
  is_by_subscription: boolean;
  /** The metadata keys by whose values they are: none, one or two, in order. */
  keys: readonly string[];
}

/** The sums that a question asks for. */
export interface AskedSums {
  /** When the days begin that it is by, in ms after UTC's. */
  day_starts: readonly number[];
  /** The sums that would have answered it, had they been there: each alternative is enough, all its kinds together. */
  missing: readonly (readonly SumsKind[])[];
}

/** The columns of sums that hold the values of keys, in their order. */
export const VALUE_COLUMNS = ["value", "second_value"] as const;

/** The sums by subscription and hour. */
export const BY_SUBSCRIPTION: SumsKind = { is_by_subscription: true, keys: [] };

/** The text by which sums are stored and found: JSON of when days begin, null for hours, whether by subscription, and the keys. */
export function nameOf({ day_start_ms, is_by_subscription, keys }: SumsKind): string {
  return JSON.stringify([day_start_ms ?? null, is_by_subscription, ...keys]);
}

/** Reads a name. */
export function kindOf(name: string): SumsKind {
  const [day_start_ms, is_by_subscription, ...keys]: (number | boolean | string | null)[] = JSON.parse(name);
  return {
    day_start_ms: typeof day_start_ms === "number" ? day_start_ms : undefined,
    is_by_subscription: is_by_subscription === true,
    keys: keys.map(String),
  };
}

/** SQL of what an event is summed by: the columns of sums, of which 0 and empty texts stand for nothing. */
export function groupsOf(kind: SumsKind, parameters: Parameters): Record<string, string> {
  const values = VALUE_COLUMNS.map((column, i): [string, string] => {
    const key = kind.keys[i];
    return [column, key === undefined ? "''" : valueSql(key, parameters)];
  });
  return {
    subscription_id: kind.is_by_subscription ? "subscription_id" : "0",
    span: spanOfEvent(kind),
    ...Object.fromEntries(values),
  };
}

/** SQL of the number of an event's hour or day. */
function spanOfEvent({ day_start_ms }: SumsKind): string {
  if (day_start_ms === undefined) return `(timestamp // ${HOUR_MS})::INTEGER`;
  // The dividend must not be negative: the engine rounds towards zero.
  return `((timestamp + ${DAY_MS - day_start_ms}) // ${DAY_MS} - 1)::INTEGER`;
}

/** The number of the hour or day that begins at an instant. */
export function spanAt({ day_start_ms }: SumsKind, at_ms: number): number {
  return day_start_ms === undefined ? at_ms / HOUR_MS : (at_ms - day_start_ms) / DAY_MS;
}

/** The end of the hour or day that an instant is in; an instant at which one begins is its own. */
export function spanEnd({ day_start_ms }: SumsKind, at_ms: number): number {
  if (day_start_ms === undefined) return Math.ceil(at_ms / HOUR_MS) * HOUR_MS;
  return Math.ceil((at_ms - day_start_ms) / DAY_MS) * DAY_MS + day_start_ms;
}

/** SQL of the instant at which the hour or day of a sum begins. */
export function startOfSpan({ day_start_ms }: SumsKind): string {
  return day_start_ms === undefined
    ? `span::BIGINT * ${HOUR_MS}`
    : `span::BIGINT * ${DAY_MS} + ${day_start_ms}`;
}
