import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateX25519Identity, identityToRecipient } from "age-encryption";
import { fetchObject, storeObject } from "../../src/backup/objects.ts";
import { openTarget } from "../../src/backup/open_target.ts";
import { piecesOf, readText, type Target } from "../../src/backup/target.ts";
import { type S3Server, startS3 } from "../support/s3_server.ts";

const messageOf = (work: Promise<unknown>) =>
  work.then(
    () => "it did not fail",
    (error: unknown) => String(error),
  );
const folder = mkdtempSync(join(tmpdir(), "target-"));
const variables = ["S3_ENDPOINT", "S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY"] as const;
const before = variables.map((name) => [name, process.env[name]] as const);
let s3: S3Server;

beforeAll(() => {
  s3 = startS3();
  Object.assign(process.env, { S3_ENDPOINT: s3.url, S3_ACCESS_KEY_ID: "k", S3_SECRET_ACCESS_KEY: "s" });
});
afterAll(async () => {
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  await s3.stop();
  rmSync(folder, { recursive: true });
});

const TARGETS: [string, () => Target][] = [
  ["file", () => openTarget(`file://${folder}/all`)],
  ["s3", () => openTarget("s3://bucket/some/prefix")],
];

describe.each(TARGETS)("a target on %s", (_, open) => {
  test("gives back what was written, under names that are written once", async () => {
    const target = open();
    expect(await target.list("points/")).toEqual([]);
    for (const n of [1, 2, 3]) await target.write(`points/${n}.json`, piecesOf(`point ${n}`));
    await target.write("rows/1", piecesOf("rows"));
    expect(await readText(target, "points/2.json")).toBe("point 2");
    expect((await target.list("points/")).map(({ name, size }) => `${name} ${size}`).toSorted()).toEqual(
      [1, 2, 3].map((n) => `points/${n}.json 7`),
    );
    expect(await messageOf(target.write("points/1.json", piecesOf("another")))).toContain(
      "no name is written twice",
    );
    expect(await readText(target, "points/1.json")).toBe("point 1");
    await target.remove("points/1.json");
    await target.remove("points/1.json");
    expect(await target.list("points/")).toHaveLength(2);
    expect(await messageOf(readText(target, "points/1.json"))).toContain("Cannot read points/1.json from");
  });

  test("has nothing of an object whose content broke off", async () => {
    const target = open();
    async function* broken() {
      yield new Uint8Array(9 * 1024 * 1024);
      throw new Error("the disk broke");
    }
    expect(await messageOf(target.write("rows/broken", broken()))).toContain("the disk broke");
    expect((await target.list("rows/")).map(({ name }) => name)).not.toContain("rows/broken");
  });

  test("stores files as objects and fetches them, encrypted or not, in parts", async () => {
    const target = open();
    const content = Buffer.alloc(9 * 1024 * 1024, crypto.randomUUID());
    const path = join(folder, "content");
    writeFileSync(path, content);
    const identity = await generateX25519Identity();
    const recipient = await identityToRecipient(identity);
    for (const to of [null, recipient]) {
      const object = await storeObject(target, "rows/content", path, to);
      expect(object.size).toBe(content.length);
      const back = join(folder, `back-${crypto.randomUUID()}`);
      await fetchObject(target, object, back, to && identity);
      expect(readFileSync(back).equals(content)).toBe(true);
      const damaged = { ...object, sha256: "0".repeat(64) };
      const none = join(folder, "none");
      expect(await messageOf(fetchObject(target, damaged, none, to && identity))).toContain("is damaged");
      expect(() => statSync(none)).toThrow();
      if (to === null) continue;
      const stranger = await generateX25519Identity();
      expect(await messageOf(fetchObject(target, object, none, stranger))).toContain(
        "the key given is not that of age1",
      );
      expect(await messageOf(fetchObject(target, object, none))).toContain("its secret key is needed");
    }
  });
});

test("an upload to S3 goes in parts of 8 MB", () => {
  expect(Math.max(...s3.parts)).toBe(8 * 1024 * 1024);
});

test("a folder that can't be written is named, with the reason", async () => {
  writeFileSync(join(folder, "file"), "");
  const write = openTarget(`file://${folder}/file`).write("points/1", piecesOf(""));
  expect(await messageOf(write)).toContain("Cannot write points/1 to file://");
});
