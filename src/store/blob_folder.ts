import { existsSync } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorCode } from "../core/error_code.ts";
import type { WriteContent } from "../core/download.ts";
import { damagedError } from "../core/damage.ts";
import { KeyedMutex } from "../core/keyed_mutex.ts";
import { syncPath } from "../core/sync_path.ts";
import { type BlobName, type BlobStore, type FindUsed, type IsHeld, partsOf } from "./blob_store.ts";
import type { StoredBlob } from "./blob_store.ts";
import { LIMITS } from "./limits.ts";
import { CompanySlots, hashOf, piecesOf, StagedFile, unnamedIn } from "./staged_files.ts";

// Where documents' bytes lie: <data directory>/documents/<company>/<first two digits>/<sha256>, and, while they
// come in, documents/<company>/incoming/<uuid>. Decision 0105.

const INCOMING = "incoming";
const NO_BUCKET = "lies in a bucket, and DOCUMENTS_URL is not set";

/** Documents as files, which equal contents of a company share; one process has them open. */
export class BlobFolder implements BlobStore {
  readonly is_bucket = false;
  readonly isHeld: IsHeld;
  readonly #folder: string;
  readonly #checkRoom: () => void;
  /** One task per content: a file and the rows that refer to it change together. */
  readonly #in_turn = new KeyedMutex<string>();
  readonly #slots = new CompanySlots(
    { all: LIMITS.document_uploads, company: LIMITS.document_uploads_company },
    "Too many documents come in at once: try again",
  );

  /** `checkRoom` throws while nothing may be stored. */
  constructor(folder: string, isHeld: IsHeld, checkRoom: () => void = () => undefined) {
    this.#folder = folder;
    this.isHeld = isHeld;
    this.#checkRoom = checkRoom;
  }

  async stage(company_id: number): Promise<StagedFile> {
    this.#checkRoom();
    const release = this.#slots.take(company_id);
    try {
      return await StagedFile.create(unnamedIn(this.incomingOf(company_id)), release);
    } catch (error) {
      release();
      throw error;
    }
  }

  /** The folder of files that are nobody's yet. */
  incomingOf(company_id: number): string {
    return join(this.#ofCompany(company_id), INCOMING);
  }

  async commit<T>(
    company_id: number,
    staged: StagedFile,
    usedAmong: FindUsed,
    commit: (stored: StoredBlob) => Promise<T>,
  ): Promise<T> {
    const written = await staged.finish();
    return this.#locks(company_id, written.sha256, async () => {
      const path = this.#pathOf(company_id, written.sha256);
      await makeFolder(dirname(path));
      // Over one of the same content, which is then as young as this one.
      await rename(staged.path, path);
      await syncPath(dirname(path));
      try {
        return await commit({ ...written, object_id: null });
      } catch (error) {
        // Where the database does not answer, the job does it later.
        await this.#removeUnused(company_id, written.sha256, usedAmong).catch(() => undefined);
        throw error;
      }
    });
  }

  async removeUnused(company_id: number, names: Iterable<BlobName>, usedAmong: FindUsed): Promise<number> {
    let removed = 0;
    for (const name of new Set(names)) {
      // One in a bucket is out of reach without DOCUMENTS_URL.
      if (partsOf(name).object_id !== null) continue;
      const is_gone = await this.#locks(company_id, name, () =>
        this.#removeUnused(company_id, name, usedAmong),
      );
      if (is_gone) removed++;
    }
    return removed;
  }

  async sweep(company_id: number, now: Temporal.Instant, usedAmong: FindUsed): Promise<number> {
    const until = now.subtract({ minutes: LIMITS.document_orphan_minutes });
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

  async read(company_id: number, name: BlobName): Promise<WriteContent> {
    const { sha256, object_id } = partsOf(name);
    if (object_id !== null) throw damagedError("documents", new Error(`${name} ${NO_BUCKET}`));
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

  async fileOf(company_id: number, name: BlobName): Promise<string | null> {
    const { sha256, object_id } = partsOf(name);
    const path = this.#pathOf(company_id, sha256);
    return object_id === null && existsSync(path) ? path : null;
  }

  async problemOf(company_id: number, stored: StoredBlob, reads: boolean): Promise<string | null> {
    const { size, sha256, object_id } = stored;
    if (object_id !== null) return NO_BUCKET;
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

  async moveIn(): Promise<boolean> {
    return false;
  }

  async #removeUnused(company_id: number, sha256: string, usedAmong: FindUsed): Promise<boolean> {
    if ((await usedAmong([sha256])).size > 0 || (await this.isHeld())) return false;
    await rm(this.#pathOf(company_id, sha256), { force: true });
    return true;
  }

  /** One after another for a content, so that no file is removed between its arrival and its row. */
  #locks<T>(company_id: number, sha256: string, work: () => Promise<T>): Promise<T> {
    return this.#in_turn.run(`${company_id}/${sha256}`, work);
  }

  #ofCompany(company_id: number): string {
    return join(this.#folder, String(company_id));
  }

  #pathOf(company_id: number, sha256: string): string {
    return join(this.#ofCompany(company_id), sha256.slice(0, 2), sha256);
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
