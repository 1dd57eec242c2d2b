import { isUtf8 } from "node:buffer";

export const FILE_FORMATS = ["csv", "ndjson", "parquet"] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

/** The beginning of a text file, which shows its encoding. */
export interface FileHead {
  /** Whether it begins with a byte order mark. */
  has_mark: boolean;
  /** Its first line, without the mark. */
  first_line: string;
}

/** The number of bytes read. */
const HEAD_BYTES = 4 * 1024 * 1024;

const UTF16_MARKS = ["fffe", "feff"];

/**
 * Reads the beginning of a file, decompressed if it is gzipped. Errors: throws an Error of one line for text in another
 * encoding than UTF-8.
 */
export async function readHead(path: string, format: FileFormat): Promise<FileHead> {
  const bytes = await firstBytes(path);
  if (UTF16_MARKS.includes(bytes.subarray(0, 2).toString("hex")))
    throw new Error("it is UTF-16, not UTF-8: convert it first, with iconv -f UTF-16 -t UTF-8");
  // NDJSON is checked line by line later.
  if (format === "csv") assertUtf8(bytes);
  const text = bytes.toString();
  const end = text.indexOf("\n");
  const has_mark = text.startsWith("\uFEFF");
  if (end < 0 && bytes.length === HEAD_BYTES && has_mark)
    throw new Error(`its first line is over ${HEAD_BYTES} bytes long`);
  return { has_mark, first_line: text.slice(has_mark ? 1 : 0, end < 0 ? undefined : end) };
}

async function firstBytes(path: string): Promise<Buffer> {
  const file = Bun.file(path).stream();
  const content = path.endsWith(".gz") ? file.pipeThrough(new DecompressionStream("gzip")) : file;
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of content) {
    pieces.push(piece);
    size += piece.byteLength;
    if (size >= HEAD_BYTES) break;
  }
  return Buffer.concat(pieces).subarray(0, HEAD_BYTES);
}

/** Refuses the file as a whole: mostly all of it is in another encoding, and rejected rows would not help. */
function assertUtf8(bytes: Buffer): void {
  let line = 1;
  for (let start = 0; start < bytes.length; line++) {
    const found = bytes.indexOf(10, start);
    const end = found < 0 ? bytes.length : found;
    const is_cut = found < 0 && bytes.length === HEAD_BYTES;
    if (!is_cut && !isUtf8(bytes.subarray(start, end))) {
      throw new Error(
        `line ${line} is not UTF-8: convert the file first, for example with iconv -f LATIN1 -t UTF-8`,
      );
    }
    start = end + 1;
  }
}

/** An engine error as one line, without the excerpt of the statement. */
export function engineReason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const lines = message.split("\n").map((line) => line.trim());
  const [, bytes] = /Maximum line size of (\d+) bytes exceeded/.exec(message) ?? [];
  if (bytes !== undefined) return `a line of it is over ${bytes} bytes long`;
  if (message.startsWith("Out of Memory Error"))
    return "it takes more memory than an import may: is a line of it megabytes long?";
  return lines.find((line) => line !== "") ?? "unknown reason";
}
