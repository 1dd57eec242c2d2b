import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unmendable } from "./exit_codes.ts";

/** A file that the executable carries, and the system must find on disk: a library. */
export interface PackedFile {
  name: string;
  /** Where it is inside of the executable, packed by zstd. */
  packed: string;
  /** Its size unpacked, and the hash of that: hexadecimal. */
  bytes: number;
  sha256: string;
}

/** How old what a killed process left half written is, at least. */
const ABANDONED_MS = 600_000;

const offered: string[] = [];

/** Lets files be unpacked into `DATA_DIR/cache`, if DATA_DIR is there, where the user has no cache folder. */
export function offerDataDir(data_dir: string): void {
  const path = join(data_dir, "cache");
  if (existsSync(data_dir) && !offered.includes(path)) offered.push(path);
}

/** Where files may be unpacked, the best place first. */
function candidates(): string[] {
  const { XDG_CACHE_HOME, HOME } = process.env;
  const caches = XDG_CACHE_HOME ? [XDG_CACHE_HOME] : HOME ? [join(HOME, ".cache")] : [];
  const temporary = join(tmpdir(), `meterhouse-${process.getuid?.()}`);
  return [...caches.map((cache) => join(cache, "meterhouse")), ...offered, temporary];
}

/**
 * Uses files from the first folder where they are or can be unpacked and `use` succeeds: one may be read-only, full,
 * another user's or on a file system that runs nothing. Safe for several processes at once. Decision 0194.
 * Errors: throws one that names each folder with its reason, exit 78.
 */
export function useUnpacked<T>(
  files: readonly PackedFile[],
  use: (folder: string) => T,
  folders = candidates(),
): T {
  const problems: string[] = [];
  for (const parent of folders) {
    try {
      const folder = join(parent, setName(files));
      for (const path of [parent, folder]) openFolder(path);
      for (const file of files) unpack(file, folder);
      return use(folder);
    } catch (error) {
      problems.push(`${parent}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const names = files.map(({ name }) => name).join(", ");
  throw unmendable(
    `Cannot unpack ${names}: ${problems.join("; ")}. Set XDG_CACHE_HOME to a folder where this user may write files and run them`,
  );
}

/** Another content has another folder, so that two versions of the program do not meet. */
function setName(files: readonly PackedFile[]): string {
  const hash = new Bun.CryptoHasher("sha256");
  for (const { name, sha256 } of files) hash.update(`${name} ${sha256}\n`);
  return `libraries-${hash.digest("hex").slice(0, 16)}`;
}

/** Whoever else could write there could let this process run what they like. */
function openFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const { uid, mode } = statSync(path);
  if (uid !== process.getuid?.()) throw new Error(`it belongs to user ${uid}`);
  if ((mode & 0o022) !== 0) chmodSync(path, 0o700);
}

/** A file is written under a name of its own and then renamed: under its own name it is always whole. */
function unpack({ name, packed, bytes, sha256 }: PackedFile, folder: string): void {
  const path = join(folder, name);
  if (statSync(path, { throwIfNoEntry: false })?.size === bytes) return;
  const content = Bun.zstdDecompressSync(readFileSync(packed));
  if (new Bun.CryptoHasher("sha256").update(content).digest("hex") !== sha256)
    throw new Error(`${name} inside of the program is damaged`);
  removeAbandoned(folder);
  const own = `${path}.${Bun.randomUUIDv7()}`;
  try {
    writeWhole(own, content);
    renameSync(own, path);
  } catch (error) {
    rmSync(own, { force: true });
    throw error;
  }
}

function writeWhole(path: string, content: Uint8Array): void {
  const file = openSync(path, "wx", 0o600);
  try {
    for (let at = 0; at < content.length; ) at += writeSync(file, content, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function removeAbandoned(folder: string): void {
  const before = Temporal.Now.instant().epochMilliseconds - ABANDONED_MS;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const found = statSync(path, { throwIfNoEntry: false });
    if (/\.[\da-f-]{36}$/.test(name) && found && found.mtimeMs < before) rmSync(path, { force: true });
  }
}
