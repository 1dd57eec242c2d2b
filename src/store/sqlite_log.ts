import { type FileBytes, lookInto } from "../core/file_bytes.ts";

// SQLite takes the first frame of its log whose checksum is wrong for the last words of a process that was killed, and
// ignores it and all that follow. A damaged one looks the same, and would take every later commit along in silence.
// Each commit is on disk before the next is written (`synchronous = FULL`), so that a frame can only be unfinished in
// the last of them: a broken one before a commit that others follow is damage. Decision 0199.
// The format: https://www.sqlite.org/fileformat2.html#walformat

export const HEADER_BYTES = 32;
export const FRAME_BYTES = 24;
const LITTLE_ENDIAN = 0x377f0682;
export const BIG_ENDIAN = 0x377f0683;

/** A process beside this one may be writing: what is wrong is still wrong a little later. */
const LOOKS = 2;
const PAUSE_MS = 30;

/** What is wrong with a log whose process was killed, or null. A file that is not there has nothing wrong. */
export async function logProblem(path: string): Promise<string | null> {
  let problem: string | null = null;
  for (let i = 0; i < LOOKS; i++) {
    const found = lookInto(path, problemOf);
    if (found === null || (problem !== null && problem !== found)) return null;
    problem = found;
    await Bun.sleep(PAUSE_MS);
  }
  return problem;
}

function problemOf({ size, readAt }: FileBytes): string | null {
  if (size <= HEADER_BYTES) return null;
  const header = readAt(0, HEADER_BYTES);
  if (header.every((byte) => byte === 0)) return null;
  const magic = header.readUInt32BE(0);
  const page_bytes = header.readUInt32BE(8);
  const sum = new Checksum(magic === BIG_ENDIAN);
  sum.add(header.subarray(0, FRAME_BYTES));
  if ((magic !== LITTLE_ENDIAN && magic !== BIG_ENDIAN) || !sum.is(header.subarray(24)))
    return "its log begins with damaged bytes";
  const salts = header.subarray(16, 24);
  const step = FRAME_BYTES + page_bytes;
  let broken: number | undefined;
  let commits = 0;
  for (let at = HEADER_BYTES; at + step <= size; at += step) {
    const frame = readAt(at, broken === undefined ? step : FRAME_BYTES);
    const is_ours = frame.subarray(8, 16).equals(salts);
    if (broken === undefined) {
      sum.add(frame.subarray(0, 8));
      sum.add(frame.subarray(FRAME_BYTES));
      if (is_ours && sum.is(frame.subarray(16, 24))) continue;
      broken = at;
    }
    if (!is_ours) continue;
    if (commits > 0) return `its log is damaged at byte ${broken}, before what was committed later`;
    if (frame.readUInt32BE(4) !== 0) commits++;
  }
  return null;
}

/** The running checksum of a log: two sums of words that add each other. */
export class Checksum {
  readonly #is_big: boolean;
  #first: number;
  #second: number;

  /** `sums`: those that it goes on from. */
  constructor(is_big: boolean, [first, second]: readonly [number, number] = [0, 0]) {
    this.#is_big = is_big;
    [this.#first, this.#second] = [first, second];
  }

  get sums(): [number, number] {
    return [this.#first, this.#second];
  }

  add(bytes: Buffer): void {
    const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const is_little = !this.#is_big;
    for (let at = 0; at < words.byteLength; at += 8) {
      this.#first = (this.#first + words.getUint32(at, is_little) + this.#second) >>> 0;
      this.#second = (this.#second + words.getUint32(at + 4, is_little) + this.#first) >>> 0;
    }
  }

  is(stored: Buffer): boolean {
    return stored.readUInt32BE(0) === this.#first && stored.readUInt32BE(4) === this.#second;
  }
}
