import { basename } from "node:path";
import type { UsageFile } from "../usage/import/file.ts";
import { engineReason } from "../usage/import/file_head.ts";
import type { FileSource, RejectedRow } from "../usage/import/model.ts";
import { openProgress } from "./progress.ts";
import { Rejects } from "./rejects.ts";

// What every import does, whoever stores its rows: progress, rejected rows, counts.

/** What became of some rows, numbered as in the file. */
export interface StoredRows {
  rows: number;
  accepted: number;
  duplicates: number;
  rejected: readonly RejectedRow[];
}

/** A file to import. */
export interface ImportWork {
  path: string;
  file: UsageFile;
  rejects: string;
  /** For whom, for the title: `company 1 (Acme)`. */
  whom: string;
}

/** Imports a file, whose rows `store` stores part by part. Errors: throws one line that says how far it got. */
export async function importFile(
  { path, file, rejects: rejects_path, whom }: ImportWork,
  store: () => AsyncGenerator<StoredRows>,
): Promise<void> {
  const started = performance.now();
  const rejects = new Rejects(rejects_path);
  const progress = openProgress(`Importing ${basename(path)} for ${whom}`, {
    now: true,
    look: () => ({ share: file.share, text: `${file.rows_read} rows` }),
  });
  const done = { rows: 0, accepted: 0, duplicates: 0, rejected: 0 };
  try {
    for await (const stored of store()) {
      for (const row of stored.rejected) await rejects.write(row);
      done.rows += stored.rows;
      done.accepted += stored.accepted;
      done.duplicates += stored.duplicates;
      done.rejected += stored.rejected.length;
    }
    for await (const lines of file.readBrokenLines()) {
      for (const line of lines) await rejects.write(line);
      done.rejected += lines.length;
    }
  } catch (error) {
    throw new Error(
      `Stopped after ${done.rows} rows: ${engineReason(error)}; importing the file again goes on from there`,
      { cause: error },
    );
  } finally {
    progress.end();
    await rejects.close();
  }
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  const { accepted, duplicates, rejected } = done;
  console.log(`${accepted} accepted, ${duplicates} duplicates, ${rejected} rejected in ${seconds} s`);
  if (rejected > 0) console.log(`Rejected rows and their reasons: ${rejects.path}`);
  if (rejected > 0 && accepted + duplicates === 0) throw new Error(`Imported nothing: ${rejects.first}`);
}

/** Shows what is known of a file where its rows might count twice. */
export function warnOfRepeats(source: FileSource): void {
  const before = source.beginnings.at(-1);
  if (before !== undefined && before.bytes < source.bytes)
    console.log(`It begins with a file that was imported before: its rows up to ${before.rows} count once`);
  if (source.was_other) {
    console.error(
      `Warning: another ${source.file_name} was imported before, and rows without an id that stood in it count again; ` +
        "import new rows only, or name rows by --id",
    );
  }
}

/** Computes a value at its first use. */
export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= work());
}

/** The items as `prepare` makes them, each fetched and prepared while the one before is used. */
export async function* prefetch<T, R>(
  items: AsyncGenerator<T>,
  prepare: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const prepareNext = async () => {
    const { value, done } = await items.next();
    return done === true ? undefined : { item: await prepare(value) };
  };
  const fetch = () => {
    const fetched = prepareNext();
    // It is awaited later, and may fail before.
    fetched.catch(() => undefined);
    return fetched;
  };
  for (let next = fetch(); ; ) {
    const fetched = await next;
    if (fetched === undefined) return;
    next = fetch();
    yield fetched.item;
  }
}
