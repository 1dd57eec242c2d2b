import { afterAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programFile, workerUrl } from "../../src/core/program_files.ts";
import { type PackedFile, useUnpacked } from "../../src/core/unpack.ts";

const place = mkdtempSync(join(tmpdir(), "unpack-"));
afterAll(() => rmSync(place, { recursive: true, force: true }));

const CONTENT = "the bytes of a library ".repeat(1_000);
const packed = join(place, "library.zst");
writeFileSync(packed, Bun.zstdCompressSync(CONTENT));
const FILE: PackedFile = {
  name: "library.so",
  packed,
  bytes: CONTENT.length,
  sha256: new Bun.CryptoHasher("sha256").update(CONTENT).digest("hex"),
};

let folders = 0;
const emptyFolder = () => join(place, `cache${folders++}`);
const read = (folder: string) => readFileSync(join(folder, FILE.name), "utf8");

describe("files of the executable that must be on disk", () => {
  test("are unpacked once, for this user alone", () => {
    const cache = emptyFolder();
    const first = useUnpacked([FILE], (folder) => folder, [cache]);
    expect(read(first)).toBe(CONTENT);
    expect(statSync(first).mode & 0o777).toBe(0o700);
    expect(statSync(join(first, FILE.name)).mode & 0o777).toBe(0o600);
    const written = statSync(join(first, FILE.name)).ino;
    expect(useUnpacked([FILE], (folder) => folder, [cache])).toBe(first);
    expect(statSync(join(first, FILE.name)).ino).toBe(written);
    expect(readdirSync(first)).toEqual([FILE.name]);
  });

  test("with another content have another folder", () => {
    const cache = emptyFolder();
    const other = { ...FILE, sha256: FILE.sha256.replace(/^./, "_") };
    useUnpacked([FILE], read, [cache]);
    expect(() => useUnpacked([other], read, [cache])).toThrow("inside of the program is damaged");
    expect(readdirSync(cache)).toHaveLength(2);
  });

  test("are written anew where a file is shorter, and what a killed start left is deleted later", () => {
    const cache = emptyFolder();
    const folder = useUnpacked([FILE], (made) => made, [cache]);
    writeFileSync(join(folder, FILE.name), CONTENT.slice(0, 100));
    const [old, fresh] = [Bun.randomUUIDv7(), Bun.randomUUIDv7()].map((id) => `${FILE.name}.${id}`);
    for (const name of [old, fresh]) writeFileSync(join(folder, name ?? ""), "half");
    utimesSync(join(folder, old ?? ""), 1, 1);
    expect(useUnpacked([FILE], read, [cache])).toBe(CONTENT);
    expect(readdirSync(folder).toSorted()).toEqual([FILE.name, fresh ?? ""].toSorted());
  });

  test("are taken from the next folder where one cannot be written, or nothing in it runs", () => {
    const file = join(place, "a file");
    writeFileSync(file, "");
    const [noexec, good] = [emptyFolder(), emptyFolder()];
    const use = (folder: string) => {
      if (folder.startsWith(noexec)) throw new Error("failed to map segment from shared object");
      return read(folder);
    };
    expect(useUnpacked([FILE], use, [join(file, "below"), noexec, good])).toBe(CONTENT);
    expect(existsSync(join(file, "below"))).toBe(false);
  });

  test("are not read from a folder that others may write: it is closed first", () => {
    const cache = emptyFolder();
    mkdirSync(cache);
    chmodSync(cache, 0o777);
    useUnpacked([FILE], read, [cache]);
    expect(statSync(cache).mode & 0o777).toBe(0o700);
  });

  test("that fit nowhere are reported with each folder and its reason", () => {
    const [first, second] = [emptyFolder(), emptyFolder()];
    const use = (folder: string) => {
      throw new Error(folder.startsWith(first) ? "no room" : "may not run");
    };
    const message = `Cannot unpack library.so: ${first}: no room; ${second}: may not run. Set XDG_CACHE_HOME`;
    expect(() => useUnpacked([FILE], use, [first, second])).toThrow(message);
  });

  test("come from several processes at once whole", async () => {
    const cache = emptyFolder();
    const script = `
      const { useUnpacked } = await import("${import.meta.dir}/../../src/core/unpack.ts");
      const { readFileSync } = await import("node:fs");
      const file = ${JSON.stringify(FILE)};
      console.log(useUnpacked([file], (folder) => readFileSync(folder + "/library.so").length, ["${cache}"]));`;
    const starts = [1, 2, 3].map(() => Bun.spawn(["bun", "-e", script], { stdout: "pipe" }).stdout.text());
    expect(await Promise.all(starts)).toEqual(starts.map(() => `${CONTENT.length}\n`));
    const [folder = ""] = readdirSync(cache);
    expect(readdirSync(join(cache, folder))).toEqual([FILE.name]);
  });
});

test("from the sources, files and Workers are those of the repository", () => {
  expect(existsSync(join(programFile("data/migrations/sqlite"), "meta/_journal.json"))).toBe(true);
  expect(workerUrl("core/some_worker.ts").pathname).toEndWith("/src/core/some_worker.ts");
});
