import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import type { Api, Json } from "../../support/harness.ts";
import {
  type CommandFolder,
  type Finished,
  makePreparedFolder,
  runHere,
  serveHere,
  startServer,
} from "../../support/process.ts";
import { progressBar } from "../../../src/cli/progress.ts";
import { addCatalog } from "../../billing/subscriptions/fixtures.ts";
import { addSubscription, ms, search, uuid } from "../fixtures.ts";
import { counts, rejectsOf } from "./fixtures.ts";

const T0 = ms("2024-05-01T00:00:00Z");

let place: CommandFolder;

beforeAll(async () => {
  place = await makePreparedFolder();
  await served(async (api) => {
    const catalog = await addCatalog({ api });
    for (const name of ["007", "csv", "tsv", "ndjson", "gz", "parquet", "big", "ids", "two"]) {
      await addSubscription({ api }, name, catalog);
    }
  });
});
afterAll(() => place.remove());

const served = <T>(work: (api: Api) => Promise<T>): Promise<T> => serveHere(place.env, work);

const path = (name: string) => join(place.data_dir, name);

async function write(name: string, content: string | Uint8Array): Promise<string> {
  await Bun.write(path(name), content);
  return path(name);
}

function importFile(file: string, ...options: string[]): Promise<Finished> {
  return runHere(["import", "usage", file, ...options], place.env);
}

const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;

describe("every format", () => {
  /** The events that each file holds, as they are found. */
  const expected = [
    { timestamp: T0, usage: 1.5, metadata: { region: "eu", nested: { n: [1, null] } } },
    { timestamp: T0 + 1, usage: -0.000001, metadata: {} },
    { timestamp: T0 + 2, usage: 12_345.678901, metadata: { note: 'a "quote", and a comma' } },
  ];

  const csv = (name: string, separator = ",") => {
    const rows = expected.map(({ timestamp, usage, metadata }, i) => {
      const at = [String(timestamp), "2024-05-01T08:00:00.001+08:00", "2024-05-01 00:00:00.002"][i] ?? "";
      const object = Object.keys(metadata).length > 0 ? quoted(JSON.stringify(metadata)) : "";
      return [name, at, usage === -0.000001 ? "-1e-6" : String(usage), object].join(separator);
    });
    return `${[["external_subscription_id", "timestamp", "usage", "metadata"].join(separator), ...rows].join("\n")}\n`;
  };
  const ndjson = (name: string) =>
    expected
      .map(({ metadata, ...event }) =>
        JSON.stringify({ subscription_id: `1:${name}`, ...event, metadata, extra: [1] }),
      )
      .join("\n");

  async function parquet(file: string): Promise<void> {
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    await connection.run(`COPY (
      SELECT 'parquet' AS external_subscription_id, epoch_ms(moment::BIGINT) AS timestamp,
        usage::DECIMAL(18,6) AS usage, metadata::JSON AS metadata
      FROM (VALUES (${T0}, 1.5, '${JSON.stringify(expected[0]?.metadata)}'), (${T0 + 1}, -0.000001, NULL),
        (${T0 + 2}, 12345.678901, '${JSON.stringify(expected[2]?.metadata)}')) AS t(moment, usage, metadata)
    ) TO '${file}' (FORMAT parquet)`);
    connection.closeSync();
    instance.closeSync();
  }

  test("CSV, TSV, NDJSON, gzip and Parquet hold the same events", async () => {
    const files = {
      csv: await write("f.csv", csv("csv")),
      tsv: await write("f.tsv", csv("tsv", "\t")),
      ndjson: await write("f.ndjson", ndjson("ndjson")),
      gz: await write("f.jsonl.gz", Bun.gzipSync(ndjson("gz"))),
      parquet: path("f.parquet"),
    };
    await parquet(files.parquet);
    for (const file of Object.values(files)) {
      expect(counts(await importFile(file))).toEqual([3, 0, 0]);
      expect(counts(await importFile(file))).toEqual([0, 3, 0]);
    }
    await served(async (api) => {
      for (const name of Object.keys(files)) {
        const { data } = await search(api, { external_subscription_ids: [name], sort_order: "asc" });
        const bare = data.map(({ timestamp, usage, metadata }: Json) => ({ timestamp, usage, metadata }));
        expect({ [name]: bare }).toEqual({ [name]: expected });
      }
    });
  });

  test("--format overrides the name, and expressions see typed columns", async () => {
    const file = await write("f.dat", "sub;day;a;b\n7;16/05/2024;1;2\n7;17/05/2024;3;4.25\n");
    const options = ["--format", "csv", "--subscription", "lpad(sub::VARCHAR, 3, '0')"];
    options.push("--timestamp", "strptime(day, '%d/%m/%Y')", "--usage", "a * b", "--metadata", "{'a': a}");
    expect(counts(await importFile(file, ...options))).toEqual([2, 0, 0]);
    await served(async (api) => {
      const { data } = await search(api, { external_subscription_ids: ["007"], sort_order: "asc" });
      expect(data.map(({ timestamp, usage, metadata }: Json) => [timestamp, usage, metadata])).toEqual([
        [ms("2024-05-16T00:00Z"), 2, { a: 1 }],
        [ms("2024-05-17T00:00Z"), 12.75, { a: 3 }],
      ]);
    });
  });
});

describe("rejected rows", () => {
  test("go to a side file with their number and reason; the others are stored", async () => {
    const file = await write(
      "bad.csv",
      `external_subscription_id,timestamp,usage,metadata
007,${T0},1,
nobody,${T0},1,
007,soon,1,
007,,1,
007,${T0},abc,
007,${T0},,
007,${T0},1e12,
007,1,1,
007,${T0},1,[]
007,${T0},1,{
007,${T0},1,,extra
007,${T0},1
007,${T0},2,"{""a"":""\\u0000""}"
007,${T0},3,{}
`,
    );
    expect(counts(await importFile(file))).toEqual([2, 0, 12]);
    const rejects = rejectsOf(file);
    expect(rejects.map(({ row, line }) => row ?? `line ${line}`)).toEqual([
      2,
      3,
      4,
      5,
      6,
      7,
      8,
      9,
      10,
      11,
      "line 12",
      "line 13",
    ]);
    expect(rejects.map(({ reason }) => reason)).toEqual([
      "external_subscription_id names no subscription of this company",
      'timestamp is "soon": must be whole ms or an ISO 8601 date-time',
      "timestamp is missing",
      "usage must be a finite number under 1e12 in size",
      "usage is missing",
      "usage must be a finite number under 1e12 in size",
      "timestamp must not be before the subscription's start, 2020-01-01T00:00:00.000Z",
      'metadata is "[]": must be a JSON object',
      'metadata is "{": must be a JSON object',
      "metadata must not contain the NUL character",
      "Expected Number of Columns: 4 Found: 5",
      "Expected Number of Columns: 4 Found: 3",
    ]);
    expect(rejects.at(-1).text).toBe(`007,${T0},1`);
    expect(counts(await importFile(file))).toEqual([0, 2, 12]);
  });

  test("of NDJSON are lines that hold no object, too", async () => {
    const good = JSON.stringify({ external_subscription_id: "007", timestamp: T0, usage: 9 });
    const file = await write("bad.ndjson", `${good}\nnot json\n[1]\n{"usage":{}}\n${good}\n`);
    expect(counts(await importFile(file))).toEqual([2, 0, 3]);
    expect(rejectsOf(file)).toEqual([
      { row: 2, reason: "is not a JSON object" },
      { row: 3, reason: "is not a JSON object" },
      { row: 4, reason: "external_subscription_id is missing" },
    ]);
  });

  test("an expression that fails on a row spoils only that row, however late in the file", async () => {
    const rows = Array.from({ length: 30_000 }, (_, i) => `big,${T0 + i},${i === 25_000 ? "x" : 1},1`);
    const file = await write("big.csv", `external_subscription_id,timestamp,a,b\n${rows.join("\n")}\n`);
    expect(counts(await importFile(file, "--usage", "a + b"))).toEqual([29_999, 0, 1]);
    expect(rejectsOf(file)).toEqual([{ row: 25_001, reason: "usage is missing" }]);
    await served(async (api) => {
      const { data } = await search(api, { external_subscription_ids: ["big"], aggregate: true });
      expect(data[0]).toMatchObject({ total_usage: 59_998, event_count: 29_999 });
    });
  });

  test("an id column names the events, whatever the file; other content under an id is rejected", async () => {
    const lines = (usage: number) => Array.from({ length: 250 }, (_, i) => `${uuid(i)},ids,${T0},${usage}`);
    const header = "id,external_subscription_id,timestamp,usage";
    const one = await write("one.csv", [header, ...lines(1)].join("\n"));
    const other = await write("other.csv", [header, ...lines(1), ...lines(2), `,ids,${T0},3`].join("\n"));
    expect(counts(await importFile(one))).toEqual([250, 0, 0]);
    expect(counts(await importFile(other))).toEqual([1, 250, 250]);
    const rejects = rejectsOf(other);
    expect(rejects.map(({ row }) => row)).toEqual(Array.from({ length: 250 }, (_, i) => 251 + i));
    expect(rejects[0].reason).toBe(`id ${uuid(0)} is used already, by an event with other usage`);
  });

  test("--rejects names the side file; a later run without rejects leaves none", async () => {
    const file = await write(
      "r.csv",
      `external_subscription_id,timestamp,usage\ntwo,${T0},1\nlater,${T0},1\n`,
    );
    const rejects = path("elsewhere.ndjson");
    expect((await importFile(file, "--rejects", rejects)).out).toContain(rejects);
    expect(existsSync(rejects)).toBe(true);
    await served((api) => addSubscription({ api }, "later"));
    expect(counts(await importFile(file, "--rejects", rejects))).toEqual([1, 1, 0]);
    expect(existsSync(rejects)).toBe(false);
  });
});

describe("what is refused", () => {
  test("one clear line and exit 1", async () => {
    const file = await write("plain.csv", `a,b\n1,2\n`);
    const odd = await write("odd.dat", "x");
    const broken = await write("broken.parquet", "PAR1 and nothing more");
    const nothing = await write("nothing.csv", `external_subscription_id,timestamp,usage\nnobody,1,1\n`);
    const cases: [string[], string][] = [
      [[], "Say `import usage FILE`"],
      [["events", file], "Say `import usage FILE`"],
      [["usage"], "Say `import usage FILE`"],
      [["usage", path("gone.csv")], "there is no such file"],
      [["usage", odd], "Cannot tell the format"],
      [["usage", file, "--format", "xml"], "--format must be one of csv, ndjson, parquet"],
      [["usage", file], 'it has no column external_subscription_id or subscription_id, only "a", "b"'],
      [["usage", file, "--subscription", "a", "--timestamp", "b", "--usage", "c + 1"], '"c" not found'],
      [["usage", file, "--subscription", "a", "--timestamp", "b", "--usage", "a +"], "syntax error"],
      [["usage", broken], "Cannot read"],
      [["usage", nothing, "--company", "99"], "--company 99 is no company"],
      [["usage", nothing, "--company", "x"], "--company must be a positive whole number"],
      [["usage", nothing, "--rejects", nothing], "--rejects must not be the file that is imported"],
      [["usage", nothing], "Imported nothing: row 1: external_subscription_id names no subscription"],
    ];
    for (const [words, message] of cases) {
      const { code, err } = await runHere(["import", ...words], place.env);
      const is_about_words = /^--|^Say |^Cannot tell/.test(message);
      expect([words, code, err.trim().split("\n").length]).toEqual([words, is_about_words ? 2 : 1, 1]);
      expect(err).toContain(message);
    }
  });

  test("while less than DISK_RESERVE is free, and it stores nothing", async () => {
    const file = await write("reserve.csv", `external_subscription_id,timestamp,usage\n007,${T0 + 5},77\n`);
    const low = await runHere(["import", "usage", file], { ...place.env, DISK_RESERVE: "900000GB" });
    expect([low.code, low.err]).toEqual([1, expect.stringContaining("the disk is almost full")]);
    expect(counts(await importFile(file))).toEqual([1, 0, 0]);
  });

  test("while a server runs, and without --company where there are two", async () => {
    const file = await write("g.csv", `external_subscription_id,timestamp,usage\n007,${T0},77\n`);
    const server = await startServer(place.env);
    expect(counts(await importFile(file))).toEqual([1, 0, 0]);
    server.kill("SIGTERM");
    await server.exited;
    await runHere(["company", "add", "--name", "Two", "--admin-email", "two@example.com"], place.env);
    expect((await importFile(file)).err).toContain("--company is required: there are 2 companies");
    expect(counts(await importFile(file, "--company", "1"))).toEqual([0, 1, 0]);
    expect((await importFile(file, "--company", "2")).err).toContain("names no subscription of this company");
  });
});

test("progressBar() shows the share done and never more than all", () => {
  expect(progressBar(0, "0 rows")).toBe(`[${"·".repeat(30)}] 0 %  0 rows`);
  expect(progressBar(0.5, "5 rows")).toBe(`[${"#".repeat(15)}${"·".repeat(15)}] 50 %  5 rows`);
  expect(progressBar(1.2, "12 rows")).toBe(`[${"#".repeat(30)}] 100 %  12 rows`);
});
