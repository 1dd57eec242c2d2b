import { link, mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { errorCode } from "../core/error_code.ts";
import { syncPath } from "../core/sync_path.ts";
import { type Listed, type Pieces, type Target, targetError } from "./target.ts";

/** Where objects are while they are written; what a killed process left there goes with the next write. */
const INCOMING = ".incoming";
const LEFT_MS = 86_400_000;
const READ_BYTES = 256 * 1024;

/** Backups in a folder, such as one of a mounted disk. */
export class FileTarget implements Target {
  readonly url: string;
  readonly #folder: string;
  #is_swept = false;

  constructor(url: string, folder: string) {
    this.url = url;
    this.#folder = folder;
  }

  async write(name: string, content: Pieces): Promise<void> {
    const path = join(this.#folder, name);
    const incoming = join(this.#folder, INCOMING, crypto.randomUUID());
    try {
      await this.#sweep();
      await mkdir(dirname(incoming), { recursive: true, mode: 0o700 });
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const file = await open(incoming, "wx", 0o600);
      try {
        for await (const piece of content) await file.writeFile(piece);
        await file.sync();
      } finally {
        await file.close();
      }
      // Fails where the name is taken.
      await link(incoming, path);
      await syncFolders(dirname(path), this.#folder);
    } catch (error) {
      throw targetError(`write ${name} to`, this.url, error);
    } finally {
      await rm(incoming, { force: true }).catch(() => undefined);
    }
  }

  async *read(name: string): Pieces {
    const file = await open(join(this.#folder, name), "r").catch((error: unknown) => {
      throw targetError(`read ${name} from`, this.url, error);
    });
    try {
      for (;;) {
        const piece = new Uint8Array(READ_BYTES);
        const { bytesRead } = await file.read(piece);
        if (bytesRead === 0) return;
        yield piece.subarray(0, bytesRead);
      }
    } finally {
      await file.close();
    }
  }

  async list(folder: string): Promise<Listed[]> {
    const found: Listed[] = [];
    try {
      for (const entry of await entriesBelow(join(this.#folder, folder))) {
        const path = join(entry.parentPath, entry.name);
        const name = relative(this.#folder, path);
        if (!entry.isFile() || name.startsWith(`${INCOMING}/`)) continue;
        const there = await stat(path).catch(unlessGone);
        if (there) found.push({ name, size: there.size, modified_ms: there.mtimeMs });
      }
    } catch (error) {
      throw targetError("list", this.url, error);
    }
    return found;
  }

  async remove(name: string): Promise<void> {
    try {
      await rm(join(this.#folder, name), { force: true });
    } catch (error) {
      throw targetError(`remove ${name} from`, this.url, error);
    }
  }

  async #sweep(): Promise<void> {
    if (this.#is_swept) return;
    this.#is_swept = true;
    const folder = join(this.#folder, INCOMING);
    for (const { name } of await entriesBelow(folder)) {
      const found = await stat(join(folder, name)).catch(() => null);
      if (found !== null && found.mtimeMs < Temporal.Now.instant().epochMilliseconds - LEFT_MS)
        await rm(join(folder, name), { force: true });
    }
  }
}

async function entriesBelow(folder: string) {
  return (await readdir(folder, { recursive: true, withFileTypes: true }).catch(unlessGone)) ?? [];
}

/** What another process removed meanwhile is not there. */
function unlessGone(error: unknown): undefined {
  if (errorCode(error) !== "ENOENT") throw error;
}

/** Makes new names outlive a power cut, in a folder and in those above it. */
async function syncFolders(from: string, to: string): Promise<void> {
  for (let folder = from; ; folder = dirname(folder)) {
    await syncPath(folder);
    if (folder === to || folder === dirname(folder) || folder.length < to.length) return;
  }
}
