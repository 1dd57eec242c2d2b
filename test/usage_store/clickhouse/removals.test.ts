import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ClickHouse } from "../../../src/usage_store/clickhouse/engine/engine.ts";
import { openClickHouse } from "../../../src/usage_store/clickhouse/clickhouse_store.ts";
import { EXPORT_FORMATS, type UsageStore } from "../../../src/usage_store/port.ts";
import type { SeriesFrame, SeriesQuery } from "../../../src/usage_store/series.ts";
import { HOUR_MS } from "../../../src/usage_store/time_buckets.ts";
import { type ClickHouseServer, startClickHouse, whyNoClickHouse } from "../../support/clickhouse.ts";
import { modelEvent } from "../arbitrary_events.ts";
import { readCsv, readNdjson, readParquet } from "../export_files.ts";
import { NOW_MS, TIMEOUT_MS, TOTAL } from "../fixtures.ts";
import { MemoryRows } from "./memory_rows.ts";
import { StatementsBetween } from "./statements_between.ts";

const COMPANY = 2;
const SINCE_MS = Math.floor(NOW_MS / HOUR_MS) * HOUR_MS;
const LIMITS = {
  timeout_ms: TIMEOUT_MS,
  max_sorted: 1_000,
  max_file_bytes: 1e9,
  readRoom: async () => 1e9,
  signal: new AbortController().signal,
};
const reason = whyNoClickHouse();
if (reason !== null) console.log(`skipped: ${reason}`);

describe.skipIf(reason !== null)("questions in the middle of a removal", () => {
  const folder = mkdtempSync(join(tmpdir(), "usage-"));
  let server: ClickHouseServer;
  beforeAll(async () => {
    server = await startClickHouse();
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const open = (url: string, is_shared = false): Promise<UsageStore> =>
    openClickHouse({
      url,
      lanes: 1,
      openRows: async ({ lanes }) => new MemoryRows(lanes),
      holder: { id: "only", url: null },
      folder,
      rest_ms: [0, 0],
      group_ms: 0,
      ...(is_shared ? { passOn: () => Promise.reject(new Error("there is no other process")) } : {}),
    });

  /** Asks about 20 events of two hours; the statement that `reads` is sent once the first of these is gone, of which both go. */
  async function askMidway<T>(reads: RegExp, ask: (store: UsageStore) => Promise<T>): Promise<T> {
    const [reached, half_gone, answered] = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
    const between = new StatementsBetween(await server.createDatabase(), async (sql, pass) => {
      if (sql.startsWith("ALTER TABLE usage_events DELETE")) {
        await pass(`${sql} AND timestamp < ${SINCE_MS - HOUR_MS}`);
        half_gone?.resolve();
        await answered?.promise;
      } else if (reads.test(sql)) {
        reached?.resolve();
        await half_gone?.promise;
      }
      return pass(sql);
    });
    const store = await open(between.url);
    const events = Array.from({ length: 30 }, (_, i) =>
      modelEvent({ timestamp: SINCE_MS + (Math.floor(i / 10) - 2) * HOUR_MS + i }),
    );
    await store.append(COMPANY, events, NOW_MS);
    await store.closeBefore(COMPANY, SINCE_MS);
    const asking = ask(store).finally(() => answered?.resolve());
    await reached?.promise;
    const removing = store.removeClosed(COMPANY, 20);
    try {
      return await asking;
    } finally {
      expect(await removing).toBe(20);
      await store.close();
      await between.stop();
    }
  }

  test.each(EXPORT_FORMATS)("an export in %s has nothing of what goes", async (format) => {
    const reads = format === "parquet" ? /FORMAT Parquet$/ : /^SELECT toString\(id\), subscription_id, times/;
    const file = await askMidway(reads, async (store) => {
      const pieces: Uint8Array[] = [];
      await store.export(
        { company_id: COMPANY, format, keys: new Map([[1, "1:one"]]) },
        async (bytes) => void pieces.push(bytes),
        LIMITS,
      );
      return Buffer.concat(pieces);
    });
    const path = join(folder, "taken.parquet");
    await Bun.write(path, file);
    const text = file.toString();
    const read = {
      csv: () => readCsv(text),
      ndjson: () => readNdjson(text),
      parquet: () => readParquet(path),
    };
    expect(await read[format]()).toHaveLength(10);
  });

  test("a series frame by frame ends with all there was, by the sums that are kept", async () => {
    const query: SeriesQuery = {
      company_id: COMPANY,
      edges: [SINCE_MS - 2 * HOUR_MS, SINCE_MS - HOUR_MS, SINCE_MS, SINCE_MS + HOUR_MS],
      group_by: [{ by: "subscription" }],
      measure: "events",
      top: 5,
      max_key_length: 100,
    };
    const frames: SeriesFrame[] = [];
    await askMidway(/ GROUP BY unit /, (store) =>
      store.seriesFrames(
        query,
        { timeout_ms: TIMEOUT_MS, slice_events: 10 },
        async (frame) => void frames.push(frame),
      ),
    );
    expect(frames.at(-1)?.from_ms).toBe(SINCE_MS - 2 * HOUR_MS);
    expect(frames.at(-1)?.result.total.value).toBe("30");
  });

  test("what an answer that comes late says of removals takes back nothing that is known", async () => {
    let holds = false;
    const [held, released] = Array.from({ length: 2 }, () => Promise.withResolvers<void>());
    const between = new StatementsBetween(await server.createDatabase(), async (sql, pass) => {
      const answer = await pass(sql);
      if (holds && sql.includes("max(removed_ms), min(first_ms)") && sql.includes(`= ${COMPANY}`)) {
        holds = false;
        held?.resolve();
        await released?.promise;
      }
      return answer;
    });
    const store = await open(between.url, true);
    const events = Array.from({ length: 40 }, (_, i) =>
      modelEvent({ timestamp: SINCE_MS - (i + 1) * HOUR_MS }),
    );
    await store.append(COMPANY, events, NOW_MS);
    await store.closeBefore(COMPANY, SINCE_MS);
    const count = async () =>
      (await store.aggregate({ ...TOTAL, company_id: COMPANY }, TIMEOUT_MS))[0]?.event_count;
    expect(await store.removeClosed(COMPANY, 10)).toBe(10);
    holds = true;
    const late = store.closeBefore(COMPANY, SINCE_MS + HOUR_MS);
    await held?.promise;
    expect(await store.removeClosed(COMPANY, 10)).toBe(10);
    released?.resolve();
    await late;
    while ((await store.removeClosed(COMPANY, 10)) > 0);
    expect(await count()).toBe(40);
    await store.close();
    await between.stop();
  });

  test("an owner that was stalled removes no sums that the next one has kept", async () => {
    const url = await server.createDatabase();
    const [held, released] = Array.from({ length: 2 }, () => Promise.withResolvers<void>());
    const between = new StatementsBetween(url, async (sql, pass) => {
      if (sql.startsWith("ALTER TABLE usage_kept_hours DELETE")) {
        held?.resolve();
        await released?.promise;
      }
      return pass(sql);
    });
    const stalled = await open(between.url);
    const events = Array.from({ length: 20 }, (_, i) =>
      modelEvent({ timestamp: SINCE_MS - (i + 1) * HOUR_MS, usage: "2" }),
    );
    await stalled.append(COMPANY, events, NOW_MS);
    await stalled.closeBefore(COMPANY, SINCE_MS);
    // As a removal leaves it that was broken off.
    const engine = ClickHouse.connect(url);
    await engine.run(
      `INSERT INTO usage_kept_hours VALUES (${COMPANY}, 1, ${SINCE_MS / HOUR_MS - 1}, '2', 1, '2', '2', 0)`,
      TIMEOUT_MS,
    );
    const removing = stalled.removeClosed(COMPANY, 100).catch((error) => error);
    await held?.promise;
    const next = await open(url);
    expect(await next.removeClosed(COMPANY, 100)).toBe(20);
    released?.resolve();
    await removing;
    const [total] = await next.aggregate({ ...TOTAL, company_id: COMPANY }, TIMEOUT_MS);
    expect(total).toMatchObject({ event_count: 20, total_usage: "40" });
    for (const store of [stalled, next, engine]) await store.close();
    await between.stop();
  });
});
