import { type FileBytes, lookInto } from "../../../core/file_bytes.ts";

// DuckDB checks the bytes of each entry of its log, and takes one that reaches beyond the end of the file for the last
// words of a process that was killed: the rest is ignored. A damaged size looks the same, and would take all that was
// committed after it along. So the sizes are checked before the log is replayed. Decision 0199.
//
// The log: 8 bytes that say its version, then entries: size (8 bytes, little-endian), checksum (8), content.

const HEADER = Buffer.from("640062650002ffff", "hex");
const ENTRY_BYTES = 16;
/** How far behind a broken entry others are looked for. */
const SEARCHED_BYTES = 64 * 2 ** 20;

/** What is wrong with a log whose process was killed, or null. A file that is not there has nothing wrong. */
export function logProblem(path: string): string | null {
  return lookInto(path, problemOf);
}

function problemOf(file: FileBytes): string | null {
  const { size, readAt } = file;
  // What a process that was killed wrote first may not be whole.
  if (size <= HEADER.length) return null;
  if (!readAt(0, HEADER.length).equals(HEADER)) return "Corrupt WAL file: its beginning is damaged";
  const end = endOfEntries(file);
  if (end === size || !isFollowed(readAt(end, Math.min(size - end, SEARCHED_BYTES)))) return null;
  return `Corrupt WAL file: the entry at byte ${end} has a wrong size, and others follow it`;
}

/** Where the last entry ends that is whole by its size. */
function endOfEntries({ size, readAt }: FileBytes): number {
  let at = HEADER.length;
  while (at + ENTRY_BYTES <= size) {
    const length = Number(readAt(at, 8).readBigUInt64LE());
    if (length === 0 || at + ENTRY_BYTES + length > size) break;
    at += ENTRY_BYTES + length;
  }
  return at;
}

/** Whether what begins with a broken entry holds one that is whole: that one with another size, or a later one. */
function isFollowed(rest: Buffer): boolean {
  if (rest.length < ENTRY_BYTES) return false;
  const size = rest.readBigUInt64LE();
  const first = new Checksums(rest, 0);
  for (let bit = 0n; bit < 64n; bit++) if (isWhole(first, 0, size ^ (1n << bit))) return true;
  for (let offset = 0; offset < 8; offset++) {
    let sums: Checksums | undefined;
    for (let at = offset === 0 ? 8 : offset; at + ENTRY_BYTES < rest.length; at += 8) {
      // Cheap things first: the upper half of a size is 0.
      if (rest[at + 7] !== 0 || rest.readUInt32LE(at + 4) !== 0) continue;
      sums ??= new Checksums(rest, offset);
      if (isWhole(sums, at, BigInt(rest.readUInt32LE(at)))) return true;
    }
  }
  return false;
}

function isWhole(sums: Checksums, at: number, size: bigint): boolean {
  const { bytes } = sums;
  if (size === 0n || size > BigInt(bytes.length - at - ENTRY_BYTES)) return false;
  const begin = at + ENTRY_BYTES;
  return sums.of(begin, begin + Number(size)) === bytes.readBigUInt64LE(at + 8);
}

/**
 * DuckDB's checksums of any blocks of a buffer that begin a multiple of 8 bytes after `offset`: words multiplied and
 * added without carry, the rest of less than a word hashed. The sums up to each word are kept, as every number in a log
 * may look like the size of an entry.
 */
class Checksums {
  readonly bytes: Buffer;
  readonly #offset: number;
  /** Of the words before each. */
  readonly #sums: BigUint64Array;

  constructor(bytes: Buffer, offset: number) {
    this.bytes = bytes;
    this.#offset = offset;
    this.#sums = new BigUint64Array(Math.floor((bytes.length - offset) / 8) + 1);
    let sum = 0n;
    for (let word = 1; word < this.#sums.length; word++) {
      sum ^= wrap(bytes.readBigUInt64LE(offset + 8 * (word - 1)) * 0xbf58476d1ce4e5b9n);
      this.#sums[word] = sum;
    }
  }

  of(begin: number, end: number): bigint {
    const first = (begin - this.#offset) / 8;
    const last = first + Math.floor((end - begin) / 8);
    const sum = 5381n ^ (this.#sums[first] ?? 0n) ^ (this.#sums[last] ?? 0n);
    const rest = this.bytes.subarray(this.#offset + 8 * last, end);
    return rest.length === 0 ? sum : sum ^ hashOf(rest);
  }
}

const wrap = (value: bigint) => BigInt.asUintN(64, value);

/** MurmurHash64A of less than 8 bytes. */
function hashOf(rest: Buffer): bigint {
  const m = 0xc6a4a7935bd1e995n;
  let hash = wrap(0xe17a1465n ^ wrap(BigInt(rest.length) * m));
  for (let i = rest.length - 1; i >= 0; i--) hash ^= BigInt(rest[i] ?? 0) << BigInt(8 * i);
  hash = wrap(hash * m);
  hash ^= hash >> 47n;
  hash = wrap(hash * m);
  return hash ^ (hash >> 47n);
}
