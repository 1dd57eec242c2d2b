import { type AppendRequest, USAGE, WORDS } from "../../append/append_request.ts";
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

/** Rows that are written one after the other. */
class RowWriter {
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

  taken(): Uint8Array {
    return this.#bytes.subarray(0, this.#at);
  }
}

/** The rows of the new events of all decisions. */
export function encodeEvents(decisions: readonly AppendDecision[], lane: number, seq: number): Uint8Array {
  const writer = new RowWriter(2 ** 16);
  for (const { request, fresh } of decisions)
    for (const position of fresh) encodeEvent(writer, request, position, lane, seq);
  return writer.taken();
}

function encodeEvent(
  writer: RowWriter,
  { company_id, events, words, created_at }: AppendRequest,
  position: number,
  lane: number,
  seq: number,
): void {
  const event = events[position];
  if (event === undefined) throw new RangeError(`A request has no event ${position}`);
  const metadata = storedMetadata(event.metadata);
  writer.reserve(metadata.length);
  writer.byte(lane);
  writer.word(company_id);
  writer.word(event.subscription_id);
  writer.long(event.timestamp);
  const at = position * WORDS;
  for (let i = 0; i < 4; i++) writer.word(words[at + i] ?? 0);
  writer.word(words[at + USAGE] ?? 0);
  writer.word(words[at + USAGE + 1] ?? 0);
  writer.text(metadata);
  writer.long(created_at);
  writer.long(seq);
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
