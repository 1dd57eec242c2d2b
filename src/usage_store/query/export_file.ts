/** What exports have in common, whichever engine reads the events. */
import { open } from "node:fs/promises";
import type { Write } from "../../core/download.ts";
import { AppError } from "../../core/errors.ts";

/** Bytes sent at once. */
export const PIECE_BYTES = 256 * 1024;
const RETRY_AFTER_S = 30;

/** A line format: its header, and the form of a key in it. */
interface LineFormat {
  header: string;
  keyText: (key: string) => string;
}

// No cell of the CSV can begin a formula: a key begins with a digit, metadata with a brace, and only numbers with a
// minus.
export const LINE_FORMATS: Record<"csv" | "ndjson", LineFormat> = {
  csv: {
    header: "id,subscription_id,timestamp,usage,metadata,created_at\r\n",
    keyText: (key) => (/[",\r\n]/.test(key) ? quoted(key) : key),
  },
  ndjson: { header: "", keyText: (key) => JSON.stringify(key) },
};

/** A cell of CSV in quotes. */
export function quoted(cell: string): string {
  return `"${cell.replaceAll('"', '""')}"`;
}

export async function writePieces(bytes: Uint8Array, write: Write): Promise<void> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) await write(bytes.subarray(at, at + PIECE_BYTES));
}

export async function sendFile(path: string, write: Write): Promise<void> {
  const file = await open(path);
  try {
    for (;;) {
      const piece = new Uint8Array(PIECE_BYTES);
      const { bytesRead } = await file.read(piece);
      if (bytesRead === 0) return;
      await write(piece.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}

/** Refuses to sort more than `max_sorted`. Errors: invalid. */
export function assertSorted(count: number, weight: number, max_sorted: number): void {
  if (weight <= max_sorted) return;
  throw new AppError(
    "invalid",
    `Cannot sort ${count} events for an export: ` +
      "narrow it by time or subscription, or export CSV or NDJSON sorted by timestamp",
  );
}

const NARROW = "narrow it by time or subscription, or export CSV or NDJSON";

export function tooLarge(max_bytes: number): AppError {
  const limit = `${Math.floor(max_bytes / 1e6)} MB, the limit on disk`;
  return new AppError("invalid", `Cannot export: the file would be over ${limit}; ${NARROW}`);
}

export function noRoom(): AppError {
  const reason = "the disk has no room for the file, DISK_RESERVE of it stays free";
  return new AppError("unavailable", `Cannot export: ${reason}; ${NARROW}`, { retry_after_s: RETRY_AFTER_S });
}
