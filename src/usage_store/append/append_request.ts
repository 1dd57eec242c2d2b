import { type AppendResult, MAX_TIMESTAMP_MS, type NewEvent } from "../port.ts";
import { readId } from "./id_words.ts";
import type { SipHash } from "../index/siphash.ts";

/** An append that waits for its commit, with values computed in advance. */
export interface AppendRequest {
  company_id: number;
  events: readonly NewEvent[];
  created_at: number;
  /**
   * Eight an event, in one array since each costs a microsecond: the id's upper half, then its lower half, each lower
   * 32 bits first; the high and the low half of the fingerprint; the usage in millionths, lower 32 bits first.
   */
  words: Uint32Array;
  resolve(result: AppendResult): void;
  reject(error: unknown): void;
}

/** An `AppendRequest` without its promise. */
export type PreparedAppend = Omit<AppendRequest, "resolve" | "reject">;

/** Words of an event, and where its fingerprint and its usage begin. */
export const WORDS = 8;
export const FINGERPRINT = 4;
export const USAGE = 6;

const DECIMAL = /^-?[0-9]{1,12}(?:\.[0-9]{1,6})?$/;

/** Checks the port's contract and prepares an append. Errors: throws TypeError for a violation. */
export function prepareAppend(
  company_id: number,
  events: readonly NewEvent[],
  now_ms: number,
  hash: SipHash,
): PreparedAppend {
  const words = new Uint32Array(events.length * WORDS);
  let at = 0;
  for (const event of events) {
    const position = at / WORDS;
    check(event, position);
    readId(event.id, words, at, position);
    fingerprint(hash, company_id, words, at);
    words[at + FINGERPRINT] = hash.high;
    words[at + FINGERPRINT + 1] = hash.low;
    setUsage(words, at + USAGE, event.usage);
    at += WORDS;
  }
  return { company_id, events, created_at: now_ms, words };
}

/**
 * Hashes a company and an id, which is the four words from `at`: its upper half, then its lower half, each
 * with its lower 32 bits first.
 */
export function fingerprint(hash: SipHash, company_id: number, words: Uint32Array, at: number): void {
  const upper_low = words[at] ?? 0;
  const upper_high = words[at + 1] ?? 0;
  hash.hash(company_id, 0, upper_low, upper_high, words[at + 2] ?? 0, words[at + 3] ?? 0);
}

/** Usages below this are whole numbers of millionths within 2^53, to which a double times a million rounds. */
const SMALL = 1e9;

/** Writes a usage as two words. */
export function setUsage(words: Uint32Array, at: number, usage: string): void {
  const value = Number(usage);
  if (Math.abs(value) < SMALL) {
    const millionths = Math.round(value * 1e6);
    words[at] = millionths;
    words[at + 1] = Math.floor(millionths / 2 ** 32);
  } else {
    const millionths = toMillionths(usage);
    words[at] = Number(BigInt.asUintN(32, millionths));
    words[at + 1] = Number(BigInt.asUintN(32, millionths >> 32n));
  }
}

/** The usage of a request's event, in millionths: a number where that is exact, which is several times faster. */
export function usageOf({ words }: PreparedAppend, position: number): number | bigint {
  const at = position * WORDS + USAGE;
  const low = words[at] ?? 0;
  const high = (words[at + 1] ?? 0) | 0;
  const value = high * 2 ** 32 + low;
  return Number.isSafeInteger(value) ? value : (BigInt(high) << 32n) + BigInt(low);
}

/** A usage as a whole number of millionths: `"-0.5"` → -500000n. */
export function toMillionths(usage: string): bigint {
  const point = usage.indexOf(".");
  if (point < 0) return BigInt(`${usage}000000`);
  return BigInt(usage.slice(0, point) + usage.slice(point + 1).padEnd(6, "0"));
}

function check(event: NewEvent, position: number): void {
  const { subscription_id, timestamp, usage } = event;
  const wrong = !DECIMAL.test(usage)
    ? `its usage ${usage} has over six decimals or is 1e12 or more in size`
    : !Number.isInteger(timestamp) || timestamp < 0 || timestamp > MAX_TIMESTAMP_MS
      ? `its timestamp ${timestamp} is no whole ms of the years 1970 to 9999`
      : !Number.isInteger(subscription_id)
        ? `its subscription_id ${subscription_id} is no integer`
        : undefined;
  if (wrong !== undefined) throw new TypeError(`Cannot store event ${position}: ${wrong}`);
}
