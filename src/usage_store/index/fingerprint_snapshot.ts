import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { errorCode } from "../../core/error_code.ts";
import { FingerprintIndex, type IndexTable } from "./fingerprints.ts";

/**
 * A snapshot of the fingerprint index in a file, so that a start need not read every stored event. The file holds the
 * slots of the tables, one after the other; then a header in JSON; then the header's checksum and length. When it can't
 * be used the index is rebuilt from the events.
 */

/** The end of a snapshot. */
export interface SnapshotEnd {
  /** Every event up to this number is in the snapshot; some after it may be too. */
  last_seq: number;
  /** The id of the last event up to that number: it shows that the file belongs to this history of events. */
  last_id: string;
}

/** The version of the format. */
const FORMAT = 1;

/** The bytes between two syncs. */
const SYNC_BYTES = 4 * 2 ** 20;

/** The header's checksum, 8 bytes, and its length, 4 bytes. */
const TAIL_BYTES = 12;

interface Header extends SnapshotEnd {
  format: number;
  /** A digest of the fingerprints' secret. */
  key: string;
  /** In the index's order; `length` counts the words of the slots. */
  tables: { length: number; count: number; checksum: string }[];
}

/**
 * Writes the index while it is in use, table by table: nothing waits longer than the copy of one. The file appears
 * whole or not at all. Errors: throws those of the file system.
 */
export async function writeSnapshot(
  path: string,
  index: FingerprintIndex,
  fingerprint_key: Uint8Array,
  end: SnapshotEnd,
): Promise<void> {
  const aside = `${path}.new`;
  const file = await open(aside, "w", 0o600);
  try {
    const header: Header = { format: FORMAT, key: digestOf(fingerprint_key), ...end, tables: [] };
    let buffer = new Uint8Array();
    let unsynced_bytes = 0;
    for (const { slots, count } of index.tables) {
      // One buffer for all: fresh memory costs fifteen times as much as the copy.
      if (buffer.length < slots.byteLength) buffer = new Uint8Array(slots.byteLength * 2);
      const copy = buffer.subarray(0, slots.byteLength);
      copy.set(bytesOf(slots));
      header.tables.push({ length: slots.length, count, checksum: checksumOf(copy) });
      await writeAll(file, copy);
      unsynced_bytes += copy.length;
      if (unsynced_bytes < SYNC_BYTES) continue;
      await syncGently(file);
      unsynced_bytes = 0;
    }
    const text = new TextEncoder().encode(JSON.stringify(header));
    await writeAll(file, text);
    await writeAll(file, tailOf(text));
    await file.sync();
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  await rename(aside, path);
}

/** Syncs the file, then leaves the disk for as long to the commits that waited meanwhile. */
async function syncGently(file: FileHandle): Promise<void> {
  const before_ms = performance.now();
  await file.datasync();
  await Bun.sleep(performance.now() - before_ms);
}

/**
 * Reads a snapshot whose end `isOurs` confirms. Undefined when there is none.
 * Errors: throws an Error with the reason why it can't be used.
 */
export async function readSnapshot(
  path: string,
  fingerprint_key: Uint8Array,
  isOurs: (end: SnapshotEnd) => Promise<boolean>,
): Promise<{ index: FingerprintIndex; last_seq: number } | undefined> {
  const file = await open(path, "r").catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  });
  if (file === undefined) return undefined;
  try {
    const header = await readHeader(file);
    if (header.key !== digestOf(fingerprint_key) || !(await isOurs(header)))
      throw new Error("it belongs to another usage store");
    return { index: new FingerprintIndex(await readTables(file, header)), last_seq: header.last_seq };
  } finally {
    await file.close();
  }
}

/** Tables read in parallel: an uncached file is read twice as fast by four reads as by one. */
const READS = 4;

async function readTables(file: FileHandle, header: Header): Promise<IndexTable[]> {
  const tables: IndexTable[] = [];
  let end = 0;
  const places = header.tables.map(({ length }) => {
    const at = end;
    end += length * Uint32Array.BYTES_PER_ELEMENT;
    return at;
  });
  let next = 0;
  const readNext = async (): Promise<void> => {
    for (let i = next++; i < header.tables.length; i = next++) {
      const { length = 0, count = 0, checksum } = header.tables[i] ?? {};
      const slots = new Uint32Array(length);
      await readAll(file, bytesOf(slots), places[i] ?? 0);
      if (checksumOf(bytesOf(slots)) !== checksum) throw new Error("it is damaged");
      tables[i] = { slots, count };
    }
  };
  await Promise.all(Array.from({ length: READS }, readNext));
  return tables;
}

async function readHeader(file: FileHandle): Promise<Header> {
  const { size } = await file.stat();
  if (size < TAIL_BYTES) throw new Error("it is cut off");
  const tail = new Uint8Array(TAIL_BYTES);
  await readAll(file, tail, size - TAIL_BYTES);
  const length = new DataView(tail.buffer).getUint32(8);
  if (length > size - TAIL_BYTES) throw new Error("it is cut off");
  const text = new Uint8Array(length);
  await readAll(file, text, size - TAIL_BYTES - length);
  if (!Buffer.from(tailOf(text)).equals(tail)) throw new Error("it is damaged");
  // Written by writeSnapshot: the checksum says so.
  const header = JSON.parse(new TextDecoder().decode(text)) as Header;
  if (header.format !== FORMAT) throw new Error(`its format is ${header.format}, not ${FORMAT}`);
  return header;
}

function tailOf(text: Uint8Array): Uint8Array {
  const tail = new DataView(new ArrayBuffer(TAIL_BYTES));
  tail.setBigUint64(0, Bun.hash.xxHash3(text));
  tail.setUint32(8, text.byteLength);
  return new Uint8Array(tail.buffer);
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
}

async function readAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesRead } = await file.read(bytes, at, bytes.length - at, position + at);
    if (bytesRead === 0) throw new Error("it is cut off");
    at += bytesRead;
  }
}

function bytesOf(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}

function checksumOf(bytes: Uint8Array): string {
  return Bun.hash.xxHash3(bytes).toString(16);
}

function digestOf(fingerprint_key: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(fingerprint_key).digest("hex");
}
