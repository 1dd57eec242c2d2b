import { type Decimal, toBig } from "../core/money.ts";
import type { RelativeWindow } from "./model.ts";

/** Decimals of a stored usage. */
const USAGE_DECIMALS = 6;
/** A usage must be smaller than this in size. */
export const USAGE_BOUND = 1e12;

const HOUR_MS = 3_600_000;

const PLAIN = /^-?\d+(\.\d{1,6})?$/;
const NUMBER = /^-?(\d{1,30}(\.\d{0,60})?|\.\d{1,60})(e[+-]?\d{1,3})?$/i;

/**
 * A usage as it is stored: rounded half away from zero to six decimals, plain text ("-0.5", never "1e-7").
 * Undefined for what is no number under 1e12 in size. Text may be any decimal and is read exactly.
 * See docs/usage.md#send-events.
 */
export function roundUsage(usage: number | string): Decimal | undefined {
  if (Number.isInteger(usage) && Math.abs(Number(usage)) < USAGE_BOUND) return String(usage);
  const text = String(usage);
  // What a sender normally sends is spared the arithmetic.
  if (typeof usage === "number" && PLAIN.test(text) && Math.abs(usage) < USAGE_BOUND) return text;
  if (!NUMBER.test(text)) return undefined;
  const rounded = toBig(text).round(USAGE_DECIMALS);
  if (rounded.abs().gte(String(USAGE_BOUND))) return undefined;
  return rounded.eq("0") ? "0" : rounded.toFixed();
}

/** The subscription's key on the wire. */
export function compositeKey(company_id: number, external_subscription_id: string): string {
  return `${company_id}:${external_subscription_id}`;
}

/** The external id in a composite key, or undefined when it is no key of this company. */
export function externalIdOf(company_id: number, composite_key: string): string | undefined {
  const prefix = compositeKey(company_id, "");
  return composite_key.startsWith(prefix) ? composite_key.slice(prefix.length) : undefined;
}

/**
 * Reads an instant from a file, in Unix ms: whole ms in digits, or an ISO 8601 date-time, which is UTC when it
 * has no offset. Finer parts than ms are cut off. Undefined for anything else.
 */
export function readMoment(text: string): number | undefined {
  if (/^\d{1,15}(\.0*)?$/.test(text)) return Number(text);
  for (const read of [instantOf, utcOf]) {
    try {
      return read(text);
    } catch {
      // The next form, or none.
    }
  }
  return undefined;
}

const instantOf = (text: string) => Temporal.Instant.from(text).epochMilliseconds;
const utcOf = (text: string) => Temporal.PlainDateTime.from(text).toZonedDateTime("UTC").epochMilliseconds;

/** A span of time, Unix ms: start inclusive, end exclusive, an absent bound is open. */
export interface Window {
  start_ms?: number | undefined;
  end_ms?: number | undefined;
}

const HOURS_BACK: Record<Exclude<RelativeWindow, "this_month" | "last_month">, number> = {
  last_1h: 1,
  last_24h: 24,
  last_7d: 7 * 24,
  last_30d: 30 * 24,
  last_90d: 90 * 24,
};

/**
 * The window that a search means. `last_…` counts hours back from now and takes in the running millisecond,
 * so that what was just stored is found; months are calendar months in the zone. Decision 0022.
 */
export function windowOf(relative: RelativeWindow, now: Temporal.Instant, zone: string): Window {
  if (relative === "this_month" || relative === "last_month") {
    const this_month = now.toZonedDateTimeISO(zone).with({ day: 1 }).toPlainDate();
    const first = relative === "this_month" ? this_month : this_month.subtract({ months: 1 });
    return { start_ms: midnight(first, zone), end_ms: midnight(first.add({ months: 1 }), zone) };
  }
  const now_ms = now.epochMilliseconds;
  return { start_ms: now_ms - HOURS_BACK[relative] * HOUR_MS, end_ms: now_ms + 1 };
}

function midnight(date: Temporal.PlainDate, zone: string): number {
  return date.toZonedDateTime(zone).epochMilliseconds;
}
