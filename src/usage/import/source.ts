import type { FileSource, ImportSource, KnownImport } from "./model.ts";

/**
 * The content that rows without an id take theirs from, so that a file, and one that has grown since, is stored once.
 * Decision 0122.
 */

/** Hashes a file, and finds the earlier imports that it begins with. */
export async function readSource(
  path: string,
  file_name: string,
  imports: readonly KnownImport[],
): Promise<FileSource> {
  const sizes = [...new Set(imports.map(({ bytes }) => bytes))].toSorted((a, b) => a - b);
  const hasher = new Bun.CryptoHasher("sha256");
  const digests = new Map<number, string>();
  let read = 0;
  let next = 0;
  for await (const bytes of Bun.file(path).stream()) {
    let remaining = bytes;
    for (
      let size = sizes[next];
      size !== undefined && size <= read + remaining.byteLength;
      size = sizes[++next]
    ) {
      hasher.update(remaining.subarray(0, size - read));
      remaining = remaining.subarray(size - read);
      read = size;
      digests.set(size, hasher.copy().digest("hex"));
    }
    hasher.update(remaining);
    read += remaining.byteLength;
  }
  const beginnings = imports
    .filter(({ bytes, digest }) => digests.get(bytes) === digest)
    .toSorted((a, b) => a.bytes - b.bytes);
  const was_other = beginnings.length === 0 && imports.some((known) => known.file_name === file_name);
  return { file_name, digest: hasher.digest("hex"), bytes: read, beginnings, was_other };
}

/** The digest that a row's id derives from: of the first import that had the row, else of the file itself. */
export function digestOf({ beginnings, digest }: ImportSource, row: number): string {
  return beginnings.find(({ rows }) => row <= rows)?.digest ?? digest;
}
