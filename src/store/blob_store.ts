import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorCode } from "../core/error_code.ts";
import type { WriteContent } from "../core/download.ts";
import { damagedError } from "../core/damage.ts";
import { AppError } from "../core/errors.ts";
import { LIMITS } from "./limits.ts";
import { KeyedMutex } from "../core/keyed_mutex.ts";
import { syncPath } from "../core/sync_path.ts";

// Where documents' bytes lie: <data directory>/documents/<company>/<first two digits>/<sha256>, and, while they
// come in, documents/<company>/incoming/<uuid>. Decision 0105.

const READ_BYTES = 64 * 1024;
const INCOMING = "incoming";

/** What was written, once it was all written. */
export interface Written {
  size: number;
  sha256: string;
}

/** Finds which of the contents some document of the company refers to. */
export type FindUsed = (sha256s: readonly string[]) => Promise<Set<string>>;

/** The files of all companies' documents; one process has them open. */
export class BlobStore {
  readonly #folder: string;
  readonly #checkRoom: () => void;
  /** One task per content: a file and the rows that refer to it change together. */
  readonly #in_turn = new KeyedMutex<string>();
  readonly #incoming = new Map<number, number>();
  /** Backups that read the files. */
  #holds = 0;

  /** `checkRoom` throws while nothing may be stored. */
  constructor(folder: string, checkRoom: () => void = () => undefined) {
    this.#folder = folder;
    this.#checkRoom = checkRoom;
  }

  /** A file to write, nobody's yet; `discard` it in any case. Errors: unavailable when too many come in. */
  async stage(company_id: number): Promise<StagedFile> {
    this.#checkRoom();
    const release = this.#takeSlot(company_id);
    try {
      const path = join(this.#ofCompany(company_id), INCOMING, crypto.randomUUID());
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      return new StagedFile(path, await open(path, "wx", 0o600), release);
    } catch (error) {
      release();
      throw error;
    }
  }

  /**
   * Puts a file in its place, on disk, before `commit` writes down that it is there. Where that fails the file
   * goes again, unless others refer to it.
   */
  async commit<T>(
    company_id: number,
    staged: StagedFile,
    usedAmong: FindUsed,
    commit: (written: Written) => Promise<T>,
  ): Promise<T> {
    const written = await staged.finish();
    return this.#locks(company_id, written.sha256, async () => {
      const path = this.#pathOf(company_id, written.sha256);
      await makeFolder(dirname(path));
      // Over one of the same content, which is then as young as this one.
      await rename(staged.path, path);
      await syncPath(dirname(path));
      try {
        return await commit(written);
      } catch (error) {
        // Where the database does not answer, the job does it later.
        await this.#removeUnused(company_id, written.sha256, usedAmong).catch(() => undefined);
        throw error;
      }
    });
  }

  /** Removes the files that nothing refers to any more. */
  async removeUnused(company_id: number, sha256s: Iterable<string>, usedAmong: FindUsed): Promise<number> {
    let removed = 0;
    for (const sha256 of new Set(sha256s)) {
      const is_gone = await this.#locks(company_id, sha256, () =>
        this.#removeUnused(company_id, sha256, usedAmong),
      );
      if (is_gone) removed++;
    }
    return removed;
  }

  /**
   * Removes what killed processes left: files from before `until` that nothing refers to, or that never came in
   * whole. Answers how many.
   */
  async sweep(company_id: number, until: Temporal.Instant, usedAmong: FindUsed): Promise<number> {
    let removed = 0;
    const folder = this.#ofCompany(company_id);
    for (const part of await namesIn(folder)) {
      const old = await olderThan(join(folder, part), until);
      if (part === INCOMING) {
        for (const name of old) await rm(join(folder, part, name), { force: true });
        removed += old.length;
      } else if (old.length > 0) {
        const used = await usedAmong(old);
        const unused = old.filter((sha256) => !used.has(sha256));
        removed += await this.removeUnused(company_id, unused, usedAmong);
      }
    }
    return removed;
  }

  /** Keeps every file until the result is called: `sweep` removes later what nothing refers to. */
  holdRemovals(): () => void {
    this.#holds++;
    return () => void this.#holds--;
  }

  /** Whether a backup reads the files, so that none is removed now. */
  get is_held(): boolean {
    return this.#holds > 0;
  }

  /** Where a content is, if it is there. */
  pathOf(company_id: number, sha256: string): string {
    return this.#pathOf(company_id, sha256);
  }

  /**
   * The content of a file, piece by piece; all of it is hashed first. Errors: unavailable when it is not what was stored;
   * throws when it is not there.
   */
  async read(company_id: number, sha256: string): Promise<WriteContent> {
    const path = this.#pathOf(company_id, sha256);
    const file = await open(path, "r");
    try {
      if ((await hashOf(file)) !== sha256) throw damagedError("documents", new Error(`${path} is damaged`));
    } catch (error) {
      await file.close();
      throw error;
    }
    return async (write) => {
      try {
        for await (const piece of piecesOf(file)) await write(piece);
      } finally {
        await file.close();
      }
    };
  }

  /** What is wrong with a file that should be there, or null. `reads` it all, or looks at its size only. */
  async problemOf(company_id: number, { size, sha256 }: Written, reads: boolean): Promise<string | null> {
    const path = this.#pathOf(company_id, sha256);
    const found = await stat(path).catch(() => null);
    if (found === null) return "is missing";
    if (found.size !== size) return `has ${found.size} bytes instead of ${size}`;
    if (!reads) return null;
    const file = await open(path, "r");
    try {
      return (await hashOf(file)) === sha256 ? null : "has other bytes than were stored";
    } finally {
      await file.close();
    }
  }

  async #removeUnused(company_id: number, sha256: string, usedAmong: FindUsed): Promise<boolean> {
    if ((await usedAmong([sha256])).size > 0) return false;
    if (this.#holds > 0) return false;
    await rm(this.#pathOf(company_id, sha256), { force: true });
    return true;
  }

  /** One after another for a content, so that no file is removed between its arrival and its row. */
  #locks<T>(company_id: number, sha256: string, work: () => Promise<T>): Promise<T> {
    return this.#in_turn.run(`${company_id}/${sha256}`, work);
  }

  /** Errors: unavailable. Returns what gives the place back, once. */
  #takeSlot(company_id: number): () => void {
    const taken = this.#incoming.get(company_id) ?? 0;
    const all = this.#incoming.values().reduce((sum, count) => sum + count, 0);
    if (taken >= LIMITS.document_uploads_company || all >= LIMITS.document_uploads) {
      throw new AppError("unavailable", "Too many documents come in at once: try again", {
        retry_after_s: 1,
      });
    }
    this.#incoming.set(company_id, taken + 1);
    return () => {
      const remaining = (this.#incoming.get(company_id) ?? 1) - 1;
      if (remaining > 0) this.#incoming.set(company_id, remaining);
      else this.#incoming.delete(company_id);
    };
  }

  #ofCompany(company_id: number): string {
    return join(this.#folder, String(company_id));
  }

  #pathOf(company_id: number, sha256: string): string {
    return join(this.#ofCompany(company_id), sha256.slice(0, 2), sha256);
  }
}

/** A file that is being written. */
export class StagedFile {
  readonly path: string;
  readonly #file: FileHandle;
  readonly #release: () => void;
  readonly #hasher = new Bun.CryptoHasher("sha256");
  #size = 0;
  #is_open = true;

  constructor(path: string, file: FileHandle, release: () => void) {
    this.path = path;
    this.#file = file;
    this.#release = release;
  }

  get size(): number {
    return this.#size;
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#hasher.update(bytes);
    this.#size += bytes.byteLength;
    await this.#file.writeFile(bytes);
  }

  /** Ends the writing; the bytes are on disk then. */
  async finish(): Promise<Written> {
    await this.#file.sync();
    await this.#close();
    return { size: this.#size, sha256: this.#hasher.digest("hex") };
  }

  /** Ends the writing and removes what has not become a document's. */
  async discard(): Promise<void> {
    try {
      await this.#close();
      await rm(this.path, { force: true });
    } finally {
      this.#release();
    }
  }

  async #close(): Promise<void> {
    if (!this.#is_open) return;
    this.#is_open = false;
    await this.#file.close();
  }
}

async function hashOf(file: FileHandle): Promise<string> {
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const piece of piecesOf(file)) hasher.update(piece);
  return hasher.digest("hex");
}

async function* piecesOf(file: FileHandle): AsyncGenerator<Uint8Array> {
  for (let at = 0; ; ) {
    const piece = new Uint8Array(READ_BYTES);
    const { bytesRead } = await file.read(piece, 0, READ_BYTES, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  });
}

async function olderThan(folder: string, until: Temporal.Instant): Promise<string[]> {
  const old: string[] = [];
  for (const name of await namesIn(folder)) {
    // One that is gone meanwhile is young enough.
    const found = await stat(join(folder, name)).catch(() => null);
    if (found !== null && found.mtimeMs < until.epochMilliseconds) old.push(name);
  }
  return old;
}

/** Makes a folder that outlives a power cut: each new one is written down in the one above it. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let created = folder; created !== dirname(first); created = dirname(created))
    await syncPath(dirname(created));
}
