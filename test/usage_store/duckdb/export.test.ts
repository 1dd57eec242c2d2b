import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CompactableStore, openDuckDb } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import type { ExportQuery } from "../../../src/usage_store/port.ts";
import { failure, TIMEOUT_MS } from "../conformance.ts";
import { modelEvent } from "../arbitrary_events.ts";
import { readCsv, readNdjson } from "../export_files.ts";
import { type ModelEvent, page } from "../reference_model.ts";

const NOW_MS = 1_800_000_000_000;
const KEYS = new Map([
  [1, "1:plain"],
  [2, '1:quo"te'],
  [3, "1:com,ma\r\nline"],
  [4, "1:=é\n"],
]);
const LIMITS = {
  timeout_ms: TIMEOUT_MS,
  max_sorted: 1_000,
  max_file_bytes: 1e9,
  readRoom: async () => 1e9,
  signal: new AbortController().signal,
};

let folder: string;
let path: string;
let store: CompactableStore;
let last_company_id = 0;
/** A company with MANY events, which tests only read. */
let of_many: number;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "meterhouse-"));
  path = join(folder, "usage.duckdb");
  store = await openDuckDb({ path });
  of_many = await companyWith(MANY);
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A company of its own with these events. */
async function companyWith(events: readonly ModelEvent[]): Promise<number> {
  const company_id = ++last_company_id;
  await store.append(company_id, events, NOW_MS);
  return company_id;
}

type Asked = Pick<ExportQuery, "company_id" | "format"> & Partial<ExportQuery>;

/** The bytes of an export; `between` happens after each piece. */
async function take(
  query: Asked,
  between: () => Promise<void> = async () => undefined,
  limits = LIMITS,
): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  const write = async (bytes: Uint8Array): Promise<void> => {
    pieces.push(bytes);
    await between();
  };
  await store.export({ keys: KEYS, ...query }, write, limits);
  return Buffer.concat(pieces);
}

/** Two slices of events and more, some with long metadata. */
const MANY = Array.from({ length: 30_000 }, (_, i) =>
  modelEvent({
    timestamp: 1_760_000_000_000 + ((i * 7_919) % 30_011) * (i % 3 === 0 ? 1 : 1_000),
    millionths: BigInt(i % 100) * 1_000n,
    object: i % 2 === 0 ? { note: "x".repeat(1_900) } : null,
  }),
);

describe("an export", () => {
  test("is in order over many slices, and sorted by usage only where that is not too much", async () => {
    const company_id = of_many;
    for (const sort_order of ["asc", "desc"] as const) {
      const sort = { sort_by: "timestamp", sort_order } as const;
      const expected = page(MANY, { company_id, ...sort, limit: MANY.length, offset: 0 });
      const file = readCsv((await take({ company_id, format: "csv", sort })).toString());
      expect(file.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
    }
    const sort = { sort_by: "usage", sort_order: "desc" } as const;
    for (const format of ["csv", "ndjson", "parquet"] as const) {
      const error = await failure(take({ company_id, format, sort }));
      expect([error.kind, error.message]).toEqual([
        "invalid",
        expect.stringContaining("Cannot sort 30000 events"),
      ]);
    }
    const few = await take({
      company_id,
      format: "csv",
      sort,
      min_usage: "0.099",
      end_ms: 1_760_000_100_000,
    });
    expect(readCsv(few.toString()).length).toBeGreaterThan(5);
  });

  test("is of one instant, while events arrive and are moved", async () => {
    const company_id = await companyWith(MANY);
    const sort = { sort_by: "timestamp", sort_order: "asc" } as const;
    let pieces = 0;
    const file = await take({ company_id, format: "ndjson", sort }, async () => {
      if (++pieces % 20 !== 1) return;
      await store.append(company_id, [modelEvent({ timestamp: 1_760_100_000_000 })], NOW_MS);
      await store.compact();
    });
    expect(pieces).toBeGreaterThan(60);
    expect(readNdjson(file.toString())).toHaveLength(MANY.length);
    const after = await take({ company_id, format: "ndjson", sort });
    expect(readNdjson(after.toString()).length).toBeGreaterThan(MANY.length);
  });
});

describe("an export that does not end well", () => {
  test("fails when its time is up, its receiver is gone or fails, or the store closes", async () => {
    const company_id = of_many;
    const query = { company_id, format: "ndjson" } as const;
    const late = await failure(take(query, () => Bun.sleep(5), { ...LIMITS, timeout_ms: 100 }));
    expect(late.kind).toBe("unavailable");

    const receiver = new AbortController();
    const reason = new Error("gone");
    const left = take(
      query,
      async () => {
        receiver.abort(reason);
        await Promise.withResolvers<void>().promise;
      },
      { ...LIMITS, signal: receiver.signal },
    );
    expect(await left.catch((error: unknown) => error)).toBe(reason);
    const broken = take(query, () => Promise.reject(reason));
    expect(await broken.catch((error: unknown) => error)).toBe(reason);

    const own_path = join(folder, "own.duckdb");
    const own = await openDuckDb({ path: own_path });
    const some = MANY.slice(0, 2_000);
    await own.append(1, some, NOW_MS);
    await own.append(2, some, NOW_MS);
    const running = (["csv", "parquet"] as const).map((format, i) => {
      const begun = Promise.withResolvers<void>();
      const write = () => {
        begun.resolve();
        return new Promise<void>(() => undefined);
      };
      const ended = failure(own.export({ company_id: 1 + i, format, keys: KEYS }, write, LIMITS));
      return { begun: begun.promise, ended };
    });
    for (const { begun } of running) await begun;
    await own.close();
    for (const { ended } of running) expect((await ended).kind).toBe("unavailable");
    expect(existsSync(`${own_path}.exports`)).toBe(false);
  });

  test("gives its place back, and too many at once are refused", async () => {
    const company_id = of_many;
    const query = { company_id, format: "csv" } as const;
    const hold = Promise.withResolvers<void>();
    // One runs, two wait.
    const held = Array.from({ length: 3 }, () => take(query, () => hold.promise));
    expect(await failure(take(query))).toMatchObject({ kind: "rate_limited", retry_after_s: 1 });
    // For another company there is a place all the same.
    expect((await take({ company_id: 999, format: "csv" })).toString()).toStartWith("id,");
    hold.resolve();
    const sizes = (await Promise.all(held)).map((file) => file.length);
    expect(new Set(sizes).size).toBe(1);
  });

  test("leaves no file behind, and what a killed process left is removed at the next start", async () => {
    const own_path = join(folder, "left.duckdb");
    mkdirSync(`${own_path}.exports`);
    await Bun.write(`${own_path}.exports/half.parquet`, "PAR1");
    const own = await openDuckDb({ path: own_path });
    expect(existsSync(`${own_path}.exports`)).toBe(false);
    await own.append(1, [modelEvent()], NOW_MS);
    const write = () => Promise.reject(new Error("gone"));
    const query = { company_id: 1, format: "parquet", keys: KEYS } as const;
    expect(String(await own.export(query, write, LIMITS).catch(String))).toContain("gone");
    expect(readdirSync(`${own_path}.exports`)).toEqual([]);
    await own.close();
  });

  test("makes no Parquet file larger than it may take of the disk, and leaves nothing of it", async () => {
    const company_id = of_many;
    const query = { company_id, format: "parquet" } as const;
    const error = await failure(take(query, undefined, { ...LIMITS, max_file_bytes: 10_000 }));
    expect(error.kind).toBe("invalid");
    expect(error.message).toContain("the limit on disk");
    expect(readdirSync(`${path}.exports`)).toEqual([]);
    // What is left of the disk beside its reserve falls as the file grows.
    const left = { ...LIMITS, readRoom: async () => 10_000 };
    const refused = await failure(take(query, undefined, left));
    expect([refused.kind, refused.message]).toEqual(["unavailable", expect.stringContaining("DISK_RESERVE")]);
    expect(readdirSync(`${path}.exports`)).toEqual([]);
    // Lines need no file.
    const lines = await take({ company_id, format: "csv" }, undefined, { ...LIMITS, max_file_bytes: 10_000 });
    expect(lines.length).toBeGreaterThan(10_000);
  });
});
