import { type FileHandle, mkdir, open, rm } from "node:fs/promises";
import { damagedError } from "../core/damage.ts";
import { AppError } from "../core/errors.ts";
import type { WriteContent } from "../core/download.ts";
import type { BlobFolder } from "./blob_folder.ts";
import {
  type BlobName,
  blobName,
  type BlobStore,
  type FindUsed,
  type IsHeld,
  partsOf,
  type StoredBlob,
} from "./blob_store.ts";
import { LIMITS } from "./limits.ts";
import type { S3Bucket } from "./s3_bucket.ts";
import { CompanySlots, hashOf, piecesOf, type StagedFile, unnamedIn, type Written } from "./staged_files.ts";

/**
 * Documents as objects of a bucket that several instances share, named `<company>/<sha256>/<object id>`. No two rows
 * share one, so removing it races with nothing. What DATA_DIR has from before is read there. Decision 0324.
 */
export class BlobBucket implements BlobStore {
  readonly is_bucket = true;
  readonly isHeld: IsHeld;
  readonly #bucket: S3Bucket;
  readonly #folder: BlobFolder;
  readonly #owner: () => Promise<string>;
  readonly #slots = new CompanySlots(
    { all: LIMITS.document_fetches, company: LIMITS.document_fetches_company },
    "Too many documents are fetched at once: try again",
  );

  /** `folder` stages what comes in; `owner` is the id of the database whose rows name the objects. */
  constructor(bucket: S3Bucket, folder: BlobFolder, owner: () => Promise<string>) {
    this.#bucket = bucket;
    this.#folder = folder;
    this.#owner = owner;
    this.isHeld = folder.isHeld;
  }

  stage(company_id: number): Promise<StagedFile> {
    return this.#folder.stage(company_id);
  }

  async commit<T>(
    company_id: number,
    staged: StagedFile,
    usedAmong: FindUsed,
    commit: (stored: StoredBlob) => Promise<T>,
  ): Promise<T> {
    const written = await staged.finish();
    return this.#store(company_id, { ...written, path: staged.path }, usedAmong, commit);
  }

  async removeUnused(company_id: number, names: Iterable<BlobName>, usedAmong: FindUsed): Promise<number> {
    const all = [...new Set(names)];
    const objects = all.filter((name) => partsOf(name).object_id !== null);
    let removed = await this.#folder.removeUnused(company_id, all.filter(isFile), usedAmong);
    if (objects.length === 0) return removed;
    const used = await usedAmong(objects);
    for (const name of objects) {
      if (used.has(name) || (await this.isHeld())) continue;
      await this.#bucket.remove(`${company_id}/${name}`);
      removed++;
    }
    return removed;
  }

  async sweep(company_id: number, now: Temporal.Instant, usedAmong: FindUsed): Promise<number> {
    let removed = await this.#folder.sweep(company_id, now, usedAmong);
    const until_ms = now.subtract({ minutes: LIMITS.document_object_orphan_minutes }).epochMilliseconds;
    const folder = `${company_id}/`;
    await this.#claim();
    for await (const page of this.#bucket.list(folder)) {
      const old = page
        .filter(({ modified_ms }) => modified_ms < until_ms)
        .map(({ key }) => key.slice(folder.length))
        // Anything else there is not ours.
        .filter((name) => OBJECT_NAME.test(name));
      if (old.length > 0) removed += await this.removeUnused(company_id, old, usedAmong);
    }
    return removed;
  }

  async read(company_id: number, name: BlobName): Promise<WriteContent> {
    if (isFile(name)) return this.#folder.read(company_id, name);
    const release = this.#slots.take(company_id);
    try {
      const folder = this.#folder.incomingOf(company_id);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const path = unnamedIn(folder);
      const file = await open(path, "wx+", 0o600);
      try {
        // It is read by its handle: nothing is left, however the process ends.
        await rm(path);
        if (!(await this.#fetch(company_id, name, file)))
          throw damagedError("documents", new Error(`${company_id}/${name} is missing in the bucket`));
        if ((await hashOf(file)) !== partsOf(name).sha256)
          throw damagedError("documents", new Error(`${company_id}/${name} is damaged in the bucket`));
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
    } finally {
      release();
    }
  }

  async fileOf(company_id: number, name: BlobName, scratch: string): Promise<string | null> {
    if (isFile(name)) return this.#folder.fileOf(company_id, name);
    const file = await open(scratch, "w", 0o600);
    try {
      return (await this.#fetch(company_id, name, file)) ? scratch : null;
    } finally {
      await file.close();
    }
  }

  async problemOf(company_id: number, stored: StoredBlob, reads: boolean): Promise<string | null> {
    const name = blobName(stored);
    if (isFile(name)) return this.#folder.problemOf(company_id, stored, reads);
    const key = `${company_id}/${name}`;
    const size = await this.#bucket.sizeOf(key);
    if (size === null) return "is missing";
    if (size !== stored.size) return `has ${size} bytes instead of ${stored.size}`;
    if (!reads) return null;
    const hasher = new Bun.CryptoHasher("sha256");
    for await (const piece of (await this.#bucket.get(key)) ?? []) hasher.update(piece);
    return hasher.digest("hex") === stored.sha256 ? null : "has other bytes than were stored";
  }

  async moveIn(
    company_id: number,
    file: Written,
    usedAmong: FindUsed,
    commit: (object_id: string) => Promise<boolean>,
  ): Promise<boolean> {
    const stored = { ...file, object_id: null };
    const path = await this.#folder.fileOf(company_id, blobName(stored));
    if (path === null || (await this.#folder.problemOf(company_id, stored, true)) !== null) return false;
    const is_moved = await this.#store(company_id, { ...file, path }, usedAmong, async ({ object_id }) => {
      const is_changed = await commit(object_id);
      if (!is_changed) await this.removeUnused(company_id, [`${file.sha256}/${object_id}`], usedAmong);
      return is_changed;
    });
    await this.#folder.removeUnused(company_id, [file.sha256], usedAmong);
    return is_moved;
  }

  /**
   * Makes the objects this database's, or finds that they are. Errors: throws where they are another's, such as of the one
   * that this was restored from: rows that name none of them say nothing about them.
   */
  async #claim(): Promise<void> {
    const owner = await this.#owner();
    const claimed = await this.#bucket.get(OWNER);
    if (claimed === null) return this.#bucket.put(OWNER, new Blob([owner]));
    const found = Buffer.concat(await Array.fromAsync(claimed)).toString();
    if (found === owner) return;
    throw new Error(
      `Nothing is removed at ${this.#bucket.url}: by its object ${OWNER} it is another database's; if that is gone, delete this object`,
    );
  }

  async #store<T>(
    company_id: number,
    { path, ...written }: Written & { path: string },
    usedAmong: FindUsed,
    commit: (stored: StoredBlob & { object_id: string }) => Promise<T>,
  ): Promise<T> {
    const stored = { ...written, object_id: crypto.randomUUID() };
    const name = blobName(stored);
    // One that came in late, after it was given up, is an orphan.
    await this.#bucket.put(`${company_id}/${name}`, Bun.file(path));
    try {
      return await commit(stored);
    } catch (error) {
      // Only where it was refused for certain: a commit whose answer was lost may still arrive. The job does it later.
      if (error instanceof AppError && error.kind !== "unavailable")
        await this.removeUnused(company_id, [name], usedAmong).catch(() => undefined);
      throw error;
    }
  }

  /** Writes an object to a file; false where it is not there. Errors: unavailable. */
  async #fetch(company_id: number, name: BlobName, file: FileHandle): Promise<boolean> {
    const pieces = await this.#bucket.get(`${company_id}/${name}`);
    if (pieces === null) return false;
    for await (const piece of pieces) await file.writeFile(piece);
    return true;
  }
}

/** Holds the id of the database whose documents they are. */
const OWNER = "database_id";

const OBJECT_NAME = /^[0-9a-f]{64}\/[0-9a-f-]{36}$/;

const isFile = (name: BlobName) => partsOf(name).object_id === null;
