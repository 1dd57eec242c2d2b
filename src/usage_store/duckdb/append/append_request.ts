import { type AppendResult, MAX_TIMESTAMP_MS, type NewEvent } from "../../port.ts";
import { readId } from "./id_words.ts";
import type { SipHash } from "../index/siphash.ts";

/** An append that waits for its commit, with values computed in advance. */
export interface AppendRequest {
  company_id: number;
  events: readonly NewEvent[];
  created_at: number;
  /** Four an event: the id's upper half, then its lower half, each lower 32 bits first. */
  ids: Uint32Array;
  /** Two an event: the high and the low half of the fingerprint. */
  fingerprints: Uint32Array;
  /** One an event: the usage. */
  millionths: BigInt64Array;
  /** The same, two an event, lower 32 bits first. */
  usages: Uint32Array;
  resolve(result: AppendResult): void;
  reject(error: unknown): void;
}

/** An `AppendRequest` without its promise. */
export type PreparedAppend = Omit<AppendRequest, "resolve" | "reject">;

const USAGE = /^-?[0-9]{1,12}(?:\.[0-9]{1,6})?$/;

/** Checks the port's contract and prepares an append. Errors: throws TypeError for a violation. */
export function prepareAppend(
  company_id: number,
  events: readonly NewEvent[],
  now_ms: number,
  hash: SipHash,
): PreparedAppend {
  const ids = new Uint32Array(events.length * 4);
  const fingerprints = new Uint32Array(events.length * 2);
  const millionths = new BigInt64Array(events.length);
  events.forEach((event, i) => {
    check(event, i);
    readId(event.id, ids, i * 4, i);
    millionths[i] = toMillionths(event.usage);
    fingerprint(hash, company_id, ids, i * 4);
    fingerprints[i * 2] = hash.high;
    fingerprints[i * 2 + 1] = hash.low;
  });
  const usages = new Uint32Array(millionths.buffer);
  return { company_id, events, created_at: now_ms, ids, fingerprints, millionths, usages };
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

/** A usage as a whole number of millionths: `"-0.5"` → -500000n. */
export function toMillionths(usage: string): bigint {
  const point = usage.indexOf(".");
  if (point < 0) return BigInt(`${usage}000000`);
  return BigInt(usage.slice(0, point) + usage.slice(point + 1).padEnd(6, "0"));
}

function check(event: NewEvent, position: number): void {
  const { subscription_id, timestamp, usage } = event;
  const wrong = !USAGE.test(usage)
    ? `its usage ${usage} has over six decimals or is 1e12 or more in size`
    : !Number.isInteger(timestamp) || timestamp < 0 || timestamp > MAX_TIMESTAMP_MS
      ? `its timestamp ${timestamp} is no whole ms of the years 1970 to 9999`
      : !Number.isInteger(subscription_id)
        ? `its subscription_id ${subscription_id} is no integer`
        : undefined;
  if (wrong !== undefined) throw new TypeError(`Cannot store event ${position}: ${wrong}`);
}
