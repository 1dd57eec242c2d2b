import { lookInto } from "../core/file_bytes.ts";
import { BIG_ENDIAN, Checksum, FRAME_BYTES, HEADER_BYTES } from "./sqlite_log.ts";

/** A place in SQLite's log: the end of a commit, or of the header. */
export interface LogPosition {
  /** How often the log was begun anew. */
  readonly sequence: number;
  /** Hexadecimal; with the sequence they name a log: each that is begun has others. */
  readonly salts: string;
  /** In bytes. */
  readonly end: number;
  /** The running checksum there. */
  readonly sums: [number, number];
}

/** Frames that are read at once. */
const FRAMES_AT_ONCE = 64;

/**
 * The end of the last whole commit in a log. With `from`, it goes on there. Null where the file has no header, or where
 * it is no longer the log of `from`, with the same frame at its end.
 */
export function walkLog(path: string, from: LogPosition | null): LogPosition | null {
  return lookInto(path, ({ size, readAt }) => {
    const header = readAt(0, HEADER_BYTES);
    if (header.length < HEADER_BYTES) return null;
    const is_big = header.readUInt32BE(0) === BIG_ENDIAN;
    const salts = header.subarray(16, 24);
    const begun = new Checksum(is_big);
    begun.add(header.subarray(0, FRAME_BYTES));
    if (!begun.is(header.subarray(24))) return null;
    const start: LogPosition = {
      sequence: header.readUInt32BE(12),
      salts: salts.toString("hex"),
      end: HEADER_BYTES,
      sums: begun.sums,
    };
    const page_bytes = header.readUInt32BE(8);
    const step = FRAME_BYTES + page_bytes;
    if (from && (from.salts !== start.salts || from.sequence !== start.sequence)) return null;
    if (from && from.end > HEADER_BYTES) {
      const last = readAt(from.end - step, FRAME_BYTES);
      if (last.length < FRAME_BYTES || !last.subarray(8, 16).equals(salts)) return null;
      if (!new Checksum(is_big, from.sums).is(last.subarray(16, 24))) return null;
    }
    let found = from ?? start;
    const sum = new Checksum(is_big, found.sums);
    for (let at = found.end; at + step <= size; ) {
      const frames = readAt(at, step * FRAMES_AT_ONCE);
      if (frames.length < step) return found;
      for (let inside = 0; inside + step <= frames.length; inside += step, at += step) {
        const frame = frames.subarray(inside, inside + step);
        sum.add(frame.subarray(0, 8));
        sum.add(frame.subarray(FRAME_BYTES));
        if (!frame.subarray(8, 16).equals(salts) || !sum.is(frame.subarray(16, 24))) return found;
        if (frame.readUInt32BE(4) !== 0) found = { ...found, end: at + step, sums: sum.sums };
      }
    }
    return found;
  });
}

/** Whether a log is the one that a checkpoint of ours began after another. */
export function follows(next: LogPosition, before: LogPosition): boolean {
  const [salt, expected] = [next, before].map(({ salts }) => Number.parseInt(salts.slice(0, 8), 16));
  return next.sequence === before.sequence + 1 && salt === ((expected ?? 0) + 1) % 2 ** 32;
}
