import { type AppendResult, MAX_TIMESTAMP_MS, type NewEvent } from "../usage_store.ts";
import type { SipHash } from "./siphash.ts";

/** An append that waits for its commit, with what can be worked out of it beforehand. */
export interface AppendRequest {
  company_id: number;
  events: readonly NewEvent[];
  created_at: number;
  /** Two an event: the upper and the lower half of the id. */
  ids: BigUint64Array;
  /** Two an event: the high and the low half of the fingerprint. */
  fingerprints: Uint32Array;
  /** One an event: the usage. */
  millionths: BigInt64Array;
  resolve(result: AppendResult): void;
  reject(error: unknown): void;
}

/** `AppendRequest` before it has a caller to answer. */
export type PreparedAppend = Omit<AppendRequest, "resolve" | "reject">;

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const USAGE = /^-?[0-9]{1,12}(?:\.[0-9]{1,6})?$/;

/** Checks the port's contract and prepares an append. Errors: throws TypeError when it is broken. */
export function prepareAppend(
  company_id: number,
  events: readonly NewEvent[],
  now_ms: number,
  hash: SipHash,
): PreparedAppend {
  const words = new Uint32Array(events.length * 4);
  const fingerprints = new Uint32Array(events.length * 2);
  const millionths = new BigInt64Array(events.length);
  events.forEach((event, i) => {
    check(event, i);
    readId(event.id, words, i * 4);
    millionths[i] = toMillionths(event.usage);
    fingerprint(hash, company_id, words, i * 4);
    fingerprints[i * 2] = hash.high;
    fingerprints[i * 2 + 1] = hash.low;
  });
  const ids = new BigUint64Array(words.buffer);
  return { company_id, events, created_at: now_ms, ids, fingerprints, millionths };
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
  const { id, subscription_id, timestamp, usage } = event;
  const wrong = !ID.test(id)
    ? "its id is no lower-case UUID"
    : !USAGE.test(usage)
      ? `its usage ${usage} has over six decimals or is 1e12 or more in size`
      : !Number.isInteger(timestamp) || timestamp < 0 || timestamp > MAX_TIMESTAMP_MS
        ? `its timestamp ${timestamp} is no whole ms of the years 1970 to 9999`
        : !Number.isInteger(subscription_id)
          ? `its subscription_id ${subscription_id} is no integer`
          : undefined;
  if (wrong !== undefined) throw new TypeError(`Cannot store event ${position}: ${wrong}`);
}

function readId(id: string, words: Uint32Array, at: number): void {
  words[at + 1] = Number.parseInt(id.slice(0, 8), 16);
  words[at] = Number.parseInt(id.slice(9, 13) + id.slice(14, 18), 16);
  words[at + 3] = Number.parseInt(id.slice(19, 23) + id.slice(24, 28), 16);
  words[at + 2] = Number.parseInt(id.slice(28), 16);
}
