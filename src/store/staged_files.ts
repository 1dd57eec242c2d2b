import { type FileHandle, mkdir, open, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AppError } from "../core/errors.ts";

/** What was written, once it was all written. */
export interface Written {
  size: number;
  sha256: string;
}

const READ_BYTES = 64 * 1024;

/** How many may go on at once: in all, and of one company. */
interface SlotLimits {
  all: number;
  company: number;
}

/** Bounds what goes on at once, so that one company takes nobody else's place. */
export class CompanySlots {
  readonly #limits: SlotLimits;
  readonly #message: string;
  readonly #taken = new Map<number, number>();

  /** `message` is what a caller reads who finds no place. */
  constructor(limits: SlotLimits, message: string) {
    this.#limits = limits;
    this.#message = message;
  }

  /** Errors: unavailable. Returns what gives the place back; call it once. */
  take(company_id: number): () => void {
    const taken = this.#taken.get(company_id) ?? 0;
    const all = this.#taken.values().reduce((sum, count) => sum + count, 0);
    if (taken >= this.#limits.company || all >= this.#limits.all)
      throw new AppError("unavailable", this.#message, { retry_after_s: 1 });
    this.#taken.set(company_id, taken + 1);
    return () => {
      const remaining = (this.#taken.get(company_id) ?? 1) - 1;
      if (remaining > 0) this.#taken.set(company_id, remaining);
      else this.#taken.delete(company_id);
    };
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

  /** `release` is called when it is discarded. */
  static async create(path: string, release: () => void): Promise<StagedFile> {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    return new StagedFile(path, await open(path, "wx", 0o600), release);
  }

  private constructor(path: string, file: FileHandle, release: () => void) {
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

/** A new file of a folder, named by nobody. */
export const unnamedIn = (folder: string) => join(folder, crypto.randomUUID());

export async function hashOf(file: FileHandle): Promise<string> {
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const piece of piecesOf(file)) hasher.update(piece);
  return hasher.digest("hex");
}

export async function* piecesOf(file: FileHandle): AsyncGenerator<Uint8Array> {
  for (let at = 0; ; ) {
    const piece = new Uint8Array(READ_BYTES);
    const { bytesRead } = await file.read(piece, 0, READ_BYTES, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
}
