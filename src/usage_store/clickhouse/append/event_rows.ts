import { USAGE, WORDS } from "../../append/append_request.ts";
import type { AppendDecision } from "../../append/deduplicate.ts";
import { HOUR_MS } from "../../time_buckets.ts";
import { storedMetadata } from "./stored_metadata.ts";

// Rows of `usage_events` as ClickHouse's RowBinary: little-endian numbers, and texts after their length.

/** The bytes of a row without its metadata, and of the longest length of a text. */
const FIXED_BYTES = 1 + 4 + 4 + 8 + 16 + 8 + 8 + 8;
const MAX_LENGTH_BYTES = 5;

/** What stands under company 0. */
export const VOID = 0;
export const MARK = 1;

/** An event of a commit. */
export interface EventRow {
  lane: number;
  company_id: number;
  subscription_id: number;
  /** Unix ms. */
  timestamp: number;
  /** Canonical JSON, or none. */
  metadata: string | null;
  /** Unix ms. */
  created_at: number;
  /** The commit's. */
  seq: number;
  /** The words of an event as `AppendRequest` has them, and where these begin. */
  words: Uint32Array;
  at: number;
}

/** Rows that are written one after the other. */
export class RowWriter {
  #bytes: Uint8Array<ArrayBuffer>;
  #view: DataView<ArrayBuffer>;
  #at = 0;
  readonly #encoder = new TextEncoder();

  constructor(size: number) {
    this.#bytes = new Uint8Array(size);
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** Makes room for a row whose texts have so many characters. */
  reserve(characters: number): void {
    const needed = this.#at + FIXED_BYTES + MAX_LENGTH_BYTES + 3 * characters;
    if (needed <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
    larger.set(this.#bytes.subarray(0, this.#at));
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }

  byte(value: number): void {
    this.#view.setUint8(this.#at++, value);
  }

  word(value: number): void {
    this.#view.setUint32(this.#at, value, true);
    this.#at += 4;
  }

  /** A whole number from 0 to 2^53. */
  long(value: number): void {
    this.word(value % 2 ** 32);
    this.word(Math.floor(value / 2 ** 32));
  }

  text(value: string): void {
    const begin = this.#at + MAX_LENGTH_BYTES;
    const { written } = this.#encoder.encodeInto(value, this.#bytes.subarray(begin));
    let rest = written;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.byte((rest % 0x80) | 0x80);
    this.byte(rest);
    this.#bytes.copyWithin(this.#at, begin, begin + written);
    this.#at += written;
  }

  /** Writes an event. */
  event({
    lane,
    company_id,
    subscription_id,
    timestamp,
    metadata,
    created_at,
    seq,
    words,
    at,
  }: EventRow): void {
    const stored = storedMetadata(metadata);
    this.reserve(stored.length);
    this.byte(lane);
    this.word(company_id);
    this.word(subscription_id);
    this.long(timestamp);
    for (let i = 0; i < 4; i++) this.word(words[at + i] ?? 0);
    this.word(words[at + USAGE] ?? 0);
    this.word(words[at + USAGE + 1] ?? 0);
    this.text(stored);
    this.long(created_at);
    this.long(seq);
  }

  /** How many bytes were written. */
  get size(): number {
    return this.#at;
  }

  taken(): Uint8Array {
    return this.#bytes.subarray(0, this.#at);
  }
}

/** The rows of the new events of all decisions. */
export function encodeEvents(decisions: readonly AppendDecision[], lane: number, seq: number): Uint8Array {
  const writer = new RowWriter(2 ** 16);
  for (const { request, fresh } of decisions) {
    const { company_id, events, words, created_at } = request;
    for (const position of fresh) {
      const event = events[position];
      if (event === undefined) throw new RangeError(`A request has no event ${position}`);
      const { subscription_id, timestamp, metadata } = event;
      const at = position * WORDS;
      writer.event({ lane, company_id, subscription_id, timestamp, metadata, created_at, seq, words, at });
    }
  }
  return writer.taken();
}

/** The row of a commit of no events. */
export function encodeNothing(kind: typeof VOID | typeof MARK, lane: number, seq: number): Uint8Array {
  const writer = new RowWriter(FIXED_BYTES + MAX_LENGTH_BYTES);
  writer.byte(lane);
  writer.word(0);
  writer.word(kind);
  writer.long(lane * HOUR_MS);
  for (let i = 0; i < 6; i++) writer.word(0);
  writer.text("");
  writer.long(0);
  writer.long(seq);
  return writer.taken();
}
