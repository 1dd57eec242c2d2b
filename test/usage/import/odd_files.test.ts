import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import {
  type CommandFolder,
  type Finished,
  makePreparedFolder,
  runHere,
  serveHere,
} from "../../support/process.ts";
import type { Json } from "../../support/harness.ts";
import { openUsageFile } from "../../../src/usage/import/file.ts";
import { addCatalog } from "../../billing/subscriptions/fixtures.ts";
import { addSubscription, ms, search } from "../fixtures.ts";
import { NDJSON } from "../ingest/streams.ts";

// Files as other programs write them, and files that are broken.

const T0 = ms("2024-05-01T00:00:00Z");
const HEADER = "external_subscription_id,timestamp,usage,metadata\n";
const NAMES = ["mark", "twice", "http", "ids", "csv"];

let place: CommandFolder;

beforeAll(async () => {
  place = await makePreparedFolder();
  await serveHere(place.env, async (api) => {
    const catalog = await addCatalog({ api });
    for (const name of NAMES) await addSubscription({ api }, name, catalog);
  });
});
afterAll(() => place.remove());

async function importBytes(
  name: string,
  content: string | Uint8Array,
  ...options: string[]
): Promise<Finished> {
  const file = join(place.data_dir, name);
  await Bun.write(file, content);
  return runHere(["import", "usage", file, ...options], place.env);
}

/** The reasons of the rejected rows and lines. */
async function reasonsOf(name: string): Promise<Json[]> {
  const text = await Bun.file(join(place.data_dir, `${name}.rejects.ndjson`)).text();
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** What is stored of a subscription: its usage and metadata, oldest first. */
async function storedOf(name: string): Promise<Json[]> {
  const asked = { external_subscription_ids: [name], sort_order: "asc" };
  const { data } = await serveHere(place.env, (api) => search(api, asked));
  return data.map(({ usage, metadata }: Json) => [usage, metadata]);
}

const line = (name: string, at: number, rest: string) =>
  `{"external_subscription_id":"${name}","timestamp":${T0 + at},${rest}}\n`;
const MARK = "\uFEFF";

describe("NDJSON", () => {
  test("with a byte order mark has all of its lines", async () => {
    const text = MARK + line("mark", 0, '"usage":1') + line("mark", 1, '"usage":2');
    expect((await importBytes("mark.ndjson", text)).out).toContain("2 accepted, 0 duplicates, 0 rejected");
    // Packed, with an empty first line, with an expression.
    const zipped = Bun.gzipSync(Buffer.from(`${MARK}\n${line("mark", 2, '"usage":3')}`));
    const packed = await importBytes("mark2.ndjson.gz", zipped, "--usage", "usage * 2");
    expect(packed.out).toContain("1 accepted, 0 duplicates, 0 rejected");
    expect(await storedOf("mark")).toEqual([
      [1, {}],
      [2, {}],
      [6, {}],
    ]);
  });

  test("with a key that is there twice reads as over HTTP: the last counts", async () => {
    const rests = [
      '"usage":1,"usage":2',
      '"usage":1,"metadata":{"a":1,"a":2},"metadata":{"b":1,"b":{"c":3,"c":4}}',
      '"us\\u0061ge":7,"x":1,"x":2,"usage":3',
      '"usage":3,"us\\u0061ge":7',
      '"usage":5,"metadata":{"m":1},"metadata":null',
    ];
    const text = (name: string) => rests.map((rest, i) => line(name, i, rest)).join("");
    expect((await importBytes("twice.ndjson", text("twice"))).out).toContain(
      "5 accepted, 0 duplicates, 0 rejected",
    );
    const sent = text("http").replaceAll(',"x":1,"x":2', "").replace(',"metadata":null', ',"metadata":{}');
    const answer = await serveHere(place.env, (api) => api("POST", "/usage/events", sent, NDJSON));
    expect(answer.body).toEqual({ data: { accepted: 5, duplicates: 0 } });
    const stored = await storedOf("twice");
    expect(stored).toEqual(await storedOf("http"));
    expect(stored).toEqual([
      [2, {}],
      [1, { b: { c: 4 } }],
      [3, {}],
      [7, {}],
      [5, {}],
    ]);
  });

  test("with a number that no double holds is rejected at its row, as over HTTP", async () => {
    const text =
      line("ids", 0, '"usage":1,"metadata":{"n":1e400}') + line("ids", 1, '"usage":1,"metadata":{"n":1e300}');
    expect((await importBytes("large.ndjson", text)).out).toContain("1 accepted, 0 duplicates, 1 rejected");
    expect(await reasonsOf("large.ndjson")).toEqual([
      { row: 1, reason: "metadata must not be stored: it holds a number that no double can hold" },
    ]);
  });
});

test("how far a file is read shows while its first block is", async () => {
  const path = join(place.data_dir, "slow.csv");
  await Bun.write(path, HEADER + `csv,${T0},1,\n`.repeat(200_000));
  const file = await openUsageFile(path, "csv", {});
  const seen = new Set<number>();
  const timer = setInterval(() => seen.add(file.rows_read), 0);
  const blocks: number[] = [];
  for await (const block of file.readBlocks(["csv"])) blocks.push(block.rows);
  clearInterval(timer);
  file.close();
  expect(blocks).toEqual([200_000]);
  expect([...seen].some((rows) => rows > 0 && rows < 200_000)).toBe(true);
});

describe("what can't be read is refused in words", () => {
  test.each<[string, Uint8Array, string]>([
    [
      "latin.csv",
      Buffer.from(`${HEADER}csv,${T0},2,\ncsv,${T0},2,"{""n"":""Müller""}"\n`, "latin1"),
      "line 3 is not UTF-8: convert the file first, for example with iconv -f LATIN1 -t UTF-8",
    ],
    [
      "latin.csv.gz",
      Bun.gzipSync(Buffer.from(`${HEADER.replace("metadata", "Müller")}csv,${T0},2,\n`, "latin1")),
      "line 1 is not UTF-8",
    ],
    ["wide.csv", Buffer.from(`${MARK}${HEADER}csv,${T0},2,\n`, "utf16le"), "it is UTF-16, not UTF-8"],
    [
      "huge.csv",
      Buffer.from(`${HEADER}csv,${T0},2,${"y".repeat(4_100_000)}\n`),
      "a line of it is over 4000000 bytes long",
    ],
    [
      "huge.ndjson",
      Buffer.from(line("csv", 0, `"usage":1,"metadata":{"n":"${"y".repeat(20_000_000)}"}`)),
      "it takes more memory than an import may: is a line of it megabytes long?",
    ],
    [
      "wordy.csv",
      Buffer.from(`${"h".repeat(3_000_000)}\ncsv,${T0},2,\n`),
      "it has no column external_subscription_id",
    ],
  ])("%s", async (name, bytes, reason) => {
    const { code, out, err } = await importBytes(name, bytes);
    expect([code, out]).toEqual([1, ""]);
    expect(err).toStartWith(`Cannot read ${join(place.data_dir, name)}: ${reason}`);
    expect(err.length).toBeLessThan(1_000);
    expect(err.trim().split("\n")).toHaveLength(1);
  });

  test("a line of three megabytes among others is rejected alone", async () => {
    const text = `${HEADER}csv,${T0},1,\ncsv,${T0 + 1},2,${"y".repeat(3_000_000)}\ncsv,${T0 + 2},3,\n`;
    expect((await importBytes("long.csv", text)).out).toContain("2 accepted, 0 duplicates, 1 rejected");
    const [rejected] = await reasonsOf("long.csv");
    expect([rejected.line, rejected.reason]).toEqual([
      3,
      "Maximum line size of 2000000 bytes exceeded. Actual Size:3000020 bytes.",
    ]);
    expect(await storedOf("csv")).toEqual([
      [1, {}],
      [3, {}],
    ]);
  });
});
