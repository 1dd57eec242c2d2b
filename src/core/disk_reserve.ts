import { AsyncLocalStorage } from "node:async_hooks";
import { statfs } from "node:fs/promises";
import { AppError } from "./errors.ts";

/** How much more than the reserve must be free again before writing goes on, so that it does not flicker. */
const BACK = 1.2;
/** The pause between two looks. */
const LOOK_MS = 1_000;
const RETRY_AFTER_S = 30;

/** Whether writing must wait: below the reserve, and from then on until there is a fifth more than that. */
export function isLow(was_low: boolean, free_bytes: number, reserve_bytes: number): boolean {
  return free_bytes < reserve_bytes * (was_low ? BACK : 1);
}

const reserved = new AsyncLocalStorage<true>();

/** Runs work that may use the reserve: what closes access, frees room, or is a read's entry in the audit log. */
export function useReserve<T>(work: () => T): T {
  return reserved.run(true, work);
}

/** A disk: its size, and what a process without privileges may still write. */
export interface DiskSpace {
  readonly size_bytes: number;
  readonly free_bytes: number;
}

export type ReadDisk = () => Promise<DiskSpace>;

/** Reads the disk of a folder. */
export const diskOf =
  (folder: string): ReadDisk =>
  async () => {
    const { blocks, bavail, bsize } = await statfs(folder);
    return { size_bytes: blocks * bsize, free_bytes: bavail * bsize };
  };

/**
 * The part of the disk that is kept free (DISK_RESERVE), so that a full disk is a refusal with a reason and never a
 * broken commit. It looks once a second, not on each write. Decision 0197.
 */
export class DiskReserve {
  readonly #reserve_bytes: number;
  readonly #readDisk: ReadDisk;
  readonly #onChange: (is_low: boolean, free_bytes: number) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #is_watching = false;
  #is_low = false;
  #seen: DiskSpace = { size_bytes: Number.NaN, free_bytes: Number.NaN };

  /** `onChange` is told when writing begins to wait, and when it goes on. A reserve of 0 keeps nothing free. */
  constructor(
    reserve_bytes: number,
    readDisk: ReadDisk,
    onChange: (is_low: boolean, free_bytes: number) => void = () => undefined,
  ) {
    this.#reserve_bytes = reserve_bytes;
    this.#readDisk = readDisk;
    this.#onChange = onChange;
  }

  get is_low(): boolean {
    return this.#is_low;
  }

  /** The disk by the last look; NaN before the first. */
  get seen(): DiskSpace {
    return this.#seen;
  }

  /** Why writing waits, or null. */
  get problem(): string | null {
    if (!this.#is_low) return null;
    const [free, reserve] = [this.#seen.free_bytes, this.#reserve_bytes].map((bytes) =>
      Math.floor(bytes / 1e6),
    );
    return `the disk is almost full: ${free} MB are free, and DISK_RESERVE keeps ${reserve} MB`;
  }

  /** Errors: unavailable while writing waits, unless the work may use the reserve. */
  check(): void {
    if (!this.#is_low || reserved.getStore()) return;
    throw new AppError("unavailable", `Cannot store anything now: ${this.problem}; reading goes on`, {
      retry_after_s: RETRY_AFTER_S,
    });
  }

  /** Reads the bytes that may be written beside the reserve; negative below it. */
  async readRoom(): Promise<number> {
    return (await this.#readDisk()).free_bytes - this.#reserve_bytes;
  }

  /** Looks now. A disk that does not answer changes nothing: what is written to it fails by itself. */
  async look(): Promise<void> {
    const seen = await this.#readDisk().catch(() => null);
    if (seen === null) return;
    this.#seen = seen;
    const { free_bytes } = seen;
    const was_low = this.#is_low;
    this.#is_low = isLow(was_low, free_bytes, this.#reserve_bytes);
    if (this.#is_low !== was_low) this.#onChange(this.#is_low, free_bytes);
  }

  /** Looks now and then every second, until `stop`. */
  async watch(): Promise<void> {
    if (this.#is_watching) return;
    this.#is_watching = true;
    await this.#lookOn();
  }

  stop(): void {
    this.#is_watching = false;
    clearTimeout(this.#timer);
  }

  async #lookOn(): Promise<void> {
    await this.look();
    if (!this.#is_watching) return;
    this.#timer = setTimeout(() => void this.#lookOn(), LOOK_MS);
    this.#timer.unref();
  }
}
