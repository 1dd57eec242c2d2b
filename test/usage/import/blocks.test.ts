import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { LIMITS } from "../../../src/usage/limits.ts";
import { addMachine } from "../../access/api_keys/fixtures.ts";
import { addCatalog } from "../../billing/subscriptions/fixtures.ts";
import { type Answer, type Api, type Json, useService } from "../../support/harness.ts";
import { addSubscription, ms, search, uuid } from "../fixtures.ts";

// POST /usage/import: what a block may be, and what hostile ones do.

const T0 = ms("2024-05-01T00:00:00Z");
const service = useService();
const folder = mkdtempSync(join(tmpdir(), "meterhouse-blocks-"));
let instance: DuckDBInstance;
let connection: DuckDBConnection;

beforeAll(async () => {
  instance = await DuckDBInstance.create(":memory:", { preserve_insertion_order: "true" });
  connection = await instance.connect();
  const catalog = await addCatalog(service);
  for (const name of ["one", "two", "shared"]) await addSubscription(service, name, catalog);
});
afterAll(() => {
  connection.closeSync();
  instance.closeSync();
  rmSync(folder, { recursive: true, force: true });
});

const FIVE = "id, external_subscription_id, timestamp, usage, metadata";

let made = 0;
/** The bytes of a Parquet file of a query's rows. */
async function parquet(sql: string, options = ""): Promise<Uint8Array> {
  const path = join(folder, `${made++}.parquet`);
  await connection.run(`COPY (${sql}) TO '${path}' (FORMAT parquet${options})`);
  return readFileSync(path);
}

/** Rows as texts, in the order of FIVE. */
const rows = (...values: (string | null)[][]) =>
  parquet(
    `SELECT * FROM (VALUES ${values
      .map((row) => `(${row.map((text) => (text === null ? "NULL::VARCHAR" : `'${text}'`)).join(", ")})`)
      .join(", ")}) AS t(${FIVE})`,
  );

async function sendBlock(
  block: Uint8Array,
  { query = "", type = "application/vnd.apache.parquet", token = "" } = {},
): Promise<Answer> {
  const authorization = token === "" ? `Bearer ${await tokenOf(service.admin_email)}` : `Bearer ${token}`;
  const answer = await fetch(`${service.url}/api/v1/usage/import${query}`, {
    method: "POST",
    body: block,
    headers: { authorization, "content-type": type },
  });
  return { status: answer.status, body: await answer.json(), headers: answer.headers };
}

function postBlock(token: string, body: ReadableStream<Uint8Array>): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/vnd.apache.parquet" };
  return fetch(`${service.url}/api/v1/usage/import`, { method: "POST", headers, body });
}

/** Begins a block for each token and sends no more, once the server has all `in_all` of those that are under way. */
async function holdBlocks(of: string[], in_all = of.length) {
  const controllers: ReadableStreamDefaultController<Uint8Array>[] = [];
  const answers = Promise.all(
    of.map((token) =>
      postBlock(
        token,
        new ReadableStream<Uint8Array>({
          start(controller) {
            controllers.push(controller);
            controller.enqueue(new Uint8Array(1_000));
          },
        }),
      ),
    ),
  );
  const blocks = join(service.deps.config.data_dir, "import_blocks");
  while (!existsSync(blocks) || readdirSync(blocks).length < in_all) await Bun.sleep(5);
  const end = async () => {
    for (const controller of controllers) controller.close();
    return (await answers).map(({ status }) => status);
  };
  return { answers, end };
}

const tokens = new Map<string, Promise<string>>();
function tokenOf(email: string): Promise<string> {
  const token =
    tokens.get(email) ??
    service
      .anonymous("POST", "/login", { email, password: "correct horse battery" })
      .then(({ body }) => body.token);
  tokens.set(email, token);
  return token;
}

const count = async (name: string, api: Api = service.api): Promise<number> =>
  (await search(api, { aggregate: true, external_subscription_ids: [name] })).data[0]?.event_count ?? 0;

describe("a block", () => {
  test("is judged row by row, and changes nothing when it is sent again", async () => {
    const block = await rows(
      [uuid(1), "one", String(T0), "1.5", '{"b":1,"a":"x"}'],
      [uuid(2), "one", "2024-05-01T00:00:01Z", "2", null],
      [uuid(3), "nobody", String(T0), "2", null],
      [uuid(4), "one", "yesterday", "2", null],
      ["no id", "one", String(T0), "2", null],
      [null, "one", String(T0), "4", null],
      [null, "one", String(T0), "4", null],
      [uuid(5), "one", null, "4", "[1]"],
    );
    const first = await sendBlock(block);
    expect([
      first.status,
      first.body.data.accepted,
      first.body.data.duplicates,
      first.body.data.rejected,
    ]).toEqual([200, 4, 0, 4]);
    expect(first.body.data.rejected_rows.map(({ row }: Json) => row)).toEqual([3, 4, 5, 8]);
    expect(first.body.data.rejected_rows[1].reason).toContain("yesterday");
    expect((await sendBlock(block)).body.data).toMatchObject({ accepted: 0, duplicates: 4, rejected: 4 });
    expect(await count("one")).toBe(4);
    const found = await search(service.api, { external_subscription_ids: ["one"], metadata: { a: "x" } });
    expect(found.data[0]).toMatchObject({ id: uuid(1), usage: 1.5, metadata: { a: "x", b: 1 } });
    expect(readdirSync(join(service.deps.config.data_dir, "import_blocks"))).toEqual([]);
  });

  test("of many rows is stored in slices, each event once, also when two send it at once", async () => {
    const size = LIMITS.usage_block_slice + 1_000;
    const block = await parquet(
      `SELECT uuid()::VARCHAR AS id, 'two' AS external_subscription_id, (${T0} + i)::VARCHAR AS timestamp,
        '1' AS usage, '{"n":' || (i % 5) || '}' AS metadata FROM range(${size}) AS t(i)`,
    );
    const both = await Promise.all([sendBlock(block), sendBlock(block)]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect(both.reduce((sum, { body }) => sum + body.data.accepted, 0)).toBe(size);
    expect(await count("two")).toBe(size);
  });

  test("names the file that it is of, which is listed", async () => {
    const digest = "ab".repeat(32);
    const block = await rows([uuid(20), "one", String(T0), "1", null]);
    const query = `?file_name=a.csv&digest=${digest}&bytes=12&rows=1`;
    expect((await sendBlock(block, { query })).status).toBe(200);
    const listed = await service.api("GET", "/usage/imports");
    expect(listed.body.data).toEqual([{ file_name: "a.csv", digest, bytes: 12, rows: 1 }]);
    expect((await sendBlock(block, { query: "?file_name=a.csv" })).status).toBe(422);
    const began = await service.api("POST", "/usage/imports", { file: "a.csv", format: "csv" });
    expect(began.status).toBe(201);
    const { body } = await service.api("GET", "/audit-log");
    expect(body.data[0]).toMatchObject({ operation: "start_usage_import" });
  });
});

describe("who may", () => {
  test("those who may record usage, for their own company's subscriptions", async () => {
    const other = await service.addTenant();
    await addSubscription(other, "shared");
    const block = await rows(
      [uuid(30), "shared", String(T0), "1", null],
      [uuid(31), "one", String(T0), "1", null],
    );
    const token = await tokenOf(other.admin_email);
    expect((await sendBlock(block, { token })).body.data).toMatchObject({ accepted: 1, rejected: 1 });
    expect([await count("shared"), await count("shared", other.api)]).toEqual([0, 1]);
    const composite = await parquet(
      `SELECT '${uuid(32)}' AS id, '${service.company_id}:shared' AS subscription_id, '${T0}' AS timestamp,
        '1' AS usage, NULL::VARCHAR AS metadata`,
    );
    const foreign = await sendBlock(composite, { token });
    expect(foreign.body.data).toMatchObject({ accepted: 0, rejected: 1 });
    expect((await sendBlock(composite)).body.data).toMatchObject({ accepted: 1 });
  });

  test("not analysts, not clients, nobody without a token", async () => {
    const block = await rows([uuid(40), "one", String(T0), "1", null]);
    await service.addUser(service, "analyst");
    const analyst = (await service.api("GET", "/users")).body.data.find(
      ({ role }: Json) => role === "analyst",
    );
    expect((await sendBlock(block, { token: await tokenOf(analyst.email) })).status).toBe(403);
    expect((await sendBlock(block, { token: "none" })).status).toBe(401);
    expect(readdirSync(join(service.deps.config.data_dir, "import_blocks"))).toEqual([]);
  });

  test("an API key for ingest", async () => {
    const { token, api } = await addMachine(service, service, "ingest");
    const block = await rows([uuid(50), "one", String(T0), "1", null]);
    expect((await sendBlock(block, { token })).body.data).toMatchObject({ accepted: 1 });
    expect((await api("GET", "/usage/imports")).status).toBe(200);
  });
});

describe("what is refused", () => {
  const refused = async (block: Uint8Array, status: number, reason: string) => {
    const answer = await sendBlock(block);
    expect([answer.status, answer.body.error]).toEqual([status, expect.stringContaining(reason)]);
  };

  test("what is no Parquet, or a broken one", async () => {
    const block = await rows([uuid(60), "one", String(T0), "1", null]);
    await refused(new Uint8Array(), 400, "Cannot read the block as Parquet");
    await refused(new TextEncoder().encode("PAR1 and nothing more"), 400, "Cannot read the block as Parquet");
    await refused(block.subarray(0, block.length - 9), 400, "Cannot read the block as Parquet");
    await refused(block.subarray(20), 400, "Cannot read the block as Parquet");
    const holed = Uint8Array.from(block).fill(255, 4, 40);
    expect([200, 400]).toContain((await sendBlock(holed)).status);
    const long = Uint8Array.from(block);
    long.set([255, 255, 255, 127], long.length - 8);
    await refused(long, 422, "footer");
    expect((await sendBlock(block, { type: "text/csv" })).status).toBe(415);
  });

  test("other columns, other types, too many", async () => {
    await refused(await parquet("SELECT 1 AS a"), 422, "must have the columns id, external_subscription_id");
    await refused(
      await parquet(
        `SELECT '1' AS id, 'one' AS external_subscription_id, 1 AS timestamp, '1' AS usage, '' AS metadata`,
      ),
      422,
      "timestamp INTEGER",
    );
    const five =
      "SELECT '1' AS id, 'one' AS external_subscription_id, '1' AS timestamp, '1' AS usage, '' AS metadata";
    await refused(await parquet(`SELECT *, 'x' AS other FROM (${five})`), 422, "and no other");
    await refused(
      await parquet(`SELECT t.* FROM (${five}) AS t, range(${LIMITS.usage_block_rows + 1})`),
      422,
      `may have ${LIMITS.usage_block_rows} rows`,
    );
    const size = LIMITS.usage_block_value_bytes + 1;
    await refused(await parquet(five.replace("''", `repeat('x', ${size})`)), 422, "may have texts of");
  });

  test("few bytes that unpack to very many", async () => {
    const bombs = [
      // One text of 30 MB in a dictionary, that many rows share.
      `SELECT '1' AS id, 'one' AS external_subscription_id, '1' AS timestamp, '1' AS usage,
        repeat('x', 30000000) AS metadata FROM range(3)`,
      // Many rows of long texts.
      `SELECT '1' AS id, 'one' AS external_subscription_id, '1' AS timestamp, '1' AS usage,
        repeat('x', 100000) AS metadata FROM range(6000)`,
    ];
    for (const sql of bombs) {
      const block = await parquet(sql, ", COMPRESSION zstd");
      expect(block.length).toBeLessThan(10_000_000);
      const answer = await sendBlock(block);
      expect([422, 400]).toContain(answer.status);
      expect(answer.body.error).toMatch(/may have|more memory/);
    }
    expect((await service.anonymous("GET", "origin:/ready")).status).toBe(200);
  });

  test("more bytes than a block may have, whether it says so or not", async () => {
    const piece = new Uint8Array(8 * 1024 * 1024);
    const endless = new ReadableStream({ pull: (controller) => controller.enqueue(piece) });
    const answer = await postBlock(await tokenOf(service.admin_email), endless);
    expect(answer.status).toBe(413);
    expect(existsSync(join(service.deps.config.data_dir, "import_blocks"))).toBe(true);
    expect(readdirSync(join(service.deps.config.data_dir, "import_blocks"))).toEqual([]);
  });

  test("more blocks of a company at once than it may send", async () => {
    const token = await tokenOf(service.admin_email);
    const held = await holdBlocks(Array.from({ length: LIMITS.usage_blocks_company }, () => token));
    const third = await sendBlock(await rows([uuid(70), "one", String(T0), "1", null]));
    expect([third.status, third.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(await held.end()).toEqual([400, 400]);
    expect((await sendBlock(await rows([uuid(70), "one", String(T0), "1", null]))).status).toBe(200);
  });

  test("a second block of a company while half of the places are taken: others have theirs", async () => {
    const tenants = [
      service,
      await service.addTenant(),
      await service.addTenant(),
      await service.addTenant(),
    ];
    const [own, two, three, four] = await Promise.all(tenants.map(({ admin_email }) => tokenOf(admin_email)));
    const block = await rows([uuid(71), "one", String(T0), "1", null]);
    const held = await holdBlocks([own, own, two, two].map(String));
    expect((await sendBlock(block, { token: String(three) })).status).toBe(200);
    const more = await holdBlocks([String(three)], 5);
    expect((await sendBlock(block, { token: String(three) })).status).toBe(429);
    expect((await sendBlock(block, { token: String(four) })).status).toBe(200);
    await Promise.all([held.end(), more.end()]);
  });

  test("what comes too slowly, in all or at all", async () => {
    const limits = { usage_block_pace_ms: LIMITS.usage_block_pace_ms, usage_block_ms: LIMITS.usage_block_ms };
    Object.assign(LIMITS, { usage_block_pace_ms: 100 });
    const token = await tokenOf(service.admin_email);
    const idle = await holdBlocks([token]);
    const [answer] = await idle.answers;
    expect([answer?.status, await answer?.text()]).toEqual([408, expect.stringContaining("too slowly")]);
    Object.assign(LIMITS, { usage_block_ms: 0 });
    const piece = new Uint8Array(LIMITS.usage_block_pace_bytes);
    const dripping = new ReadableStream({
      async pull(controller) {
        await Bun.sleep(50);
        controller.enqueue(piece);
      },
    });
    expect((await postBlock(token, dripping)).status).toBe(408);
    Object.assign(LIMITS, limits);
    expect(readdirSync(join(service.deps.config.data_dir, "import_blocks"))).toEqual([]);
  });

  test("an engine that reads a block opens no other file", async () => {
    const path = join(folder, "secret.parquet");
    await connection.run(`COPY (SELECT 1 AS secret) TO '${path}' (FORMAT parquet)`);
    const { readSentBlock } = await import("../../../src/usage/import/block_reader.ts");
    const block = await rows([uuid(80), "one", String(T0), "1", null]);
    const own = join(folder, "own.parquet");
    await Bun.write(own, block);
    const keys = await readSentBlock(
      { path: own, digest: "", bytes: block.length },
      async (read) => read.keys,
    );
    expect(keys).toEqual(["one"]);
    const away = readSentBlock(
      { path: `${folder}/*.parquet`, digest: "", bytes: block.length },
      async () => 0,
    );
    expect(away).rejects.toThrow();
  });
});
