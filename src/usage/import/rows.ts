import type { FileRow, RejectedRow } from "./model.ts";
import type { Problem } from "../ingest/validate_events.ts";

/** A row as a client's event, or the reason why it can't be one. */
interface RawRow {
  row: number;
  raw?: Record<string, unknown>;
  reason?: string;
}

/** Converts a row's texts to an event, to be validated by the rules of ingest. Decision 0024. */
export function toIngestEvent(
  { row, problem, id, subscription, timestamp, usage, metadata }: FileRow,
  subscription_field: "external_subscription_id" | "subscription_id",
): RawRow {
  if (problem !== null) return { row, reason: problem };
  if (subscription === null) return { row, reason: `${subscription_field} is missing` };
  // Unlike a request a file is old: a missing instant does not mean now.
  if (timestamp === null) return { row, reason: "timestamp is missing" };
  if (usage === null) return { row, reason: "usage is missing" };
  const moment = readMoment(timestamp);
  if (moment === undefined) {
    return { row, reason: `timestamp is ${shown(timestamp)}: must be whole ms or an ISO 8601 date-time` };
  }
  const object = metadata === null ? null : parseObject(metadata);
  if (object === undefined) return { row, reason: `metadata is ${shown(metadata)}: must be a JSON object` };
  const raw = {
    id,
    [subscription_field]: subscription,
    timestamp: moment,
    usage,
    ...(object === null ? {} : { metadata: object }),
  };
  return { row, raw };
}

/**
 * Parses an instant to Unix ms, truncated: whole ms in digits, or an ISO 8601 date-time, UTC without an offset.
 * Undefined for anything else.
 */
export function readMoment(text: string): number | undefined {
  if (/^\d{1,15}(\.0*)?$/.test(text)) return Number(text);
  // Most texts that are no date-time are seen at once: an error of Temporal takes longer than the rest of a row.
  if (!/^[+-]?\d{4}/.test(text)) return undefined;
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

/**
 * Writes the derived id of a row into the four words from `at`: a UUIDv8 of 82 bits of the digest of the file's content
 * and the row's number. Decision 0024.
 */
export function writeDerivedId(words: Uint32Array, at: number, digest: Uint8Array, row: number): void {
  const view = new DataView(digest.buffer, digest.byteOffset, digest.byteLength);
  words[at + 1] = view.getUint32(0);
  words[at] = (view.getUint16(4) << 16) | 0x8000 | (view.getUint16(6) & 0xfff);
  words[at + 3] = 0x80000000 | ((view.getUint32(8) & 0x3fffff) << 8) | Math.floor(row / 2 ** 32);
  words[at + 2] = row;
}

/** The digits of a derived id before those of the row's number, which are the last ten. */
export function derivedIdPrefix(digest: Uint8Array): string {
  const words = new Uint32Array(4);
  writeDerivedId(words, 0, digest, 0);
  const hex = [1, 0, 3, 2].map((word) => (words[word] ?? 0).toString(16).padStart(8, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5").slice(0, -10);
}

/** One rejected row for each position with problems, its reasons joined. */
export function rejectedRows(problems: readonly Problem[], row_of: readonly number[]): RejectedRow[] {
  const reasons = new Map<number, string[]>();
  for (const { position, field, message } of problems) {
    const row = row_of[position] ?? 0;
    reasons.set(row, [...(reasons.get(row) ?? []), `${field} ${message}`.trim()]);
  }
  return [...reasons].map(([row, texts]) => ({ row, reason: texts.join("; ") }));
}

/** Parses a JSON object; null for JSON's null, undefined for anything else. */
export function parseObject(text: string): Record<string, unknown> | null | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (value === null) return null;
    return typeof value === "object" && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** A value for a message, truncated. */
function shown(text: string | null): string {
  const value = text ?? "";
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
}
