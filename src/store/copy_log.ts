import { closeSync, fsyncSync, openSync, readSync, rmSync, writeSync } from "node:fs";

/** Copies bytes of a log into a new file. Errors: throws where they are not there. */
export function copyBytes(from: string, to: string, start: number, end: number): void {
  writeSynced(to, pieces(from, start, end));
}

function* pieces(path: string, start: number, end: number): Generator<Uint8Array> {
  // Only of the log: closing the database's own file would take SQLite's locks along.
  const file = openSync(path, "r");
  try {
    const buffer = new Uint8Array(1024 * 1024);
    for (let at = start; at < end; ) {
      const read = readSync(file, buffer, 0, Math.min(buffer.length, end - at), at);
      if (read === 0) throw new Error(`${path} ends at byte ${at}, before ${end}`);
      yield buffer.subarray(0, read);
      at += read;
    }
  } finally {
    closeSync(file);
  }
}

/** Writes a new file, durably. */
export function writeSynced(path: string, content: Iterable<Uint8Array>): void {
  rmSync(path, { force: true });
  const file = openSync(path, "wx", 0o600);
  try {
    for (const piece of content) for (let at = 0; at < piece.length; ) at += writeSync(file, piece, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
