/** What every usage store exports, in every format, as cases: part of conformance.ts. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { canonicalJson } from "../../src/usage_store/metadata.ts";
import { EXPORT_FORMATS, type ExportFormat, type ExportQuery } from "../../src/usage_store/port.ts";
import { HOUR_MS } from "../../src/usage_store/time_buckets.ts";
import { propertyCases } from "../support/properties.ts";
import { anyFilter, modelEvent, someEvents } from "./arbitrary_events.ts";
import type { Subject } from "./conformance_search.ts";
import { type ExportedEvent, readCsv, readNdjson, readParquet } from "./export_files.ts";
import { failure, NOW_MS, TIMEOUT_MS } from "./fixtures.ts";
import { matching, type ModelEvent, page } from "./reference_model.ts";

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

/** More events than a piece of an export has. */
const MANY = 1_000;

/** A text that no format makes short. */
const randomText = () => Buffer.from(crypto.getRandomValues(new Uint8Array(360))).toString("base64");

const sortedById = (events: readonly ExportedEvent[]) => events.toSorted((a, b) => (a.id < b.id ? -1 : 1));

type Asked = Pick<ExportQuery, "company_id" | "format"> & Partial<ExportQuery>;

function exported({ id, subscription_id, timestamp, usage, metadata }: ModelEvent): ExportedEvent {
  return {
    id,
    subscription_id: KEYS.get(subscription_id) ?? "",
    timestamp,
    usage,
    metadata: metadata ?? "{}",
    created_at: Temporal.Instant.fromEpochMilliseconds(NOW_MS).toString({ fractionalSecondDigits: 3 }),
  };
}

export function exportCases({ store, company }: Subject): void {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "meterhouse-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function take(query: Asked, limits = LIMITS): Promise<Buffer> {
    const pieces: Uint8Array[] = [];
    await store().export({ keys: KEYS, ...query }, async (bytes) => void pieces.push(bytes), limits);
    return Buffer.concat(pieces);
  }

  const READ: Record<ExportFormat, (bytes: Buffer) => ExportedEvent[] | Promise<ExportedEvent[]>> = {
    csv: (bytes) => readCsv(bytes.toString()),
    ndjson: (bytes) => readNdjson(bytes.toString()),
    parquet: async (bytes) => {
      const file = join(folder, "taken.parquet");
      await Bun.write(file, bytes);
      return readParquet(file);
    },
  };

  test("an export is the events that match, in the order asked for, in every format", async () => {
    const sort = fc.option(
      fc.record({
        sort_by: fc.constantFrom("timestamp", "usage"),
        sort_order: fc.constantFrom("asc", "desc"),
      }),
      { nil: undefined, freq: 4 },
    );
    const format = fc.constantFrom(...EXPORT_FORMATS);
    await fc.assert(
      fc.asyncProperty(someEvents, anyFilter, sort, format, async (events, filter, order, as) => {
        const company_id = await company(events);
        const file = await READ[as](await take({ company_id, format: as, sort: order, ...filter }));
        const ascending = { sort_by: "timestamp", sort_order: "asc" } as const;
        const query = { company_id, ...(order ?? ascending), limit: events.length, offset: 0 };
        const expected = page(matching(events, { company_id, ...filter }), query).map(exported);
        const byId = (a: ExportedEvent, b: ExportedEvent) => (a.id < b.id ? -1 : 1);
        if (order === undefined) expect(file.toSorted(byId)).toEqual(expected.toSorted(byId));
        else expect(file).toEqual(expected);
      }),
      propertyCases(10, 150),
    );
  });

  test("an export leaves out subscriptions without a key, and other companies", async () => {
    const [one, two] = [modelEvent({ subscription_id: 1 }), modelEvent({ subscription_id: 2 })];
    const company_id = await company([one, two]);
    const empty_id = await company([]);
    const file = await take({ company_id, format: "csv", keys: new Map([[2, "1:two"]]) });
    expect(readCsv(file.toString()).map(({ id }) => id)).toEqual([two.id]);
    expect((await take({ company_id, format: "csv", keys: new Map() })).toString()).toBe(
      "id,subscription_id,timestamp,usage,metadata,created_at\r\n",
    );
    expect((await take({ company_id: empty_id, format: "ndjson" })).toString()).toBe("");
    expect(await READ.parquet(await take({ company_id: empty_id, format: "parquet" }))).toEqual([]);
  });

  test("an export is sorted by usage only where that is not too much, and no Parquet file is too large", async () => {
    const company_id = await company(
      Array.from({ length: 50 }, (_, i) => modelEvent({ timestamp: i, millionths: BigInt(i % 7) })),
    );
    const sort = { sort_by: "usage", sort_order: "desc" } as const;
    for (const format of EXPORT_FORMATS) {
      const few = { ...LIMITS, max_sorted: 49 };
      const error = await failure(take({ company_id, format, sort }, few));
      expect([error.kind, error.message]).toEqual([
        "invalid",
        expect.stringContaining("Cannot sort 50 events"),
      ]);
      expect(await READ[format](await take({ company_id, format, sort }))).toHaveLength(50);
    }
    const small = await failure(take({ company_id, format: "parquet" }, { ...LIMITS, max_file_bytes: 100 }));
    expect([small.kind, small.message]).toEqual(["invalid", expect.stringContaining("the limit on disk")]);
    const full = { ...LIMITS, readRoom: async () => 100 };
    expect((await failure(take({ company_id, format: "parquet" }, full))).kind).toBe("unavailable");
  });

  test("an export that is under way has what was there, whatever is erased and removed meanwhile", async () => {
    const since_ms = Math.floor(NOW_MS / HOUR_MS) * HOUR_MS;
    for (const format of EXPORT_FORMATS) {
      const events = Array.from({ length: MANY }, (_, i) =>
        modelEvent({
          timestamp: since_ms + (i % 2 === 0 ? -1 : i),
          metadata: canonicalJson({ text: randomText() }),
        }),
      );
      const company_id = await company(events);
      const pieces: Uint8Array[] = [];
      const change = async () => {
        await store().erase(
          company_id,
          events.map(({ id }) => id),
        );
        await store().closeBefore(company_id, since_ms);
        while ((await store().removeClosed(company_id, MANY)) > 0);
      };
      let changed: Promise<void> | undefined;
      const write = async (bytes: Uint8Array): Promise<void> => {
        pieces.push(bytes);
        await (changed ??= change());
      };
      await store().export({ company_id, format, keys: KEYS }, write, LIMITS);
      expect(pieces.length).toBeGreaterThan(1);
      const taken = await READ[format](Buffer.concat(pieces));
      expect(sortedById(taken)).toEqual(sortedById(events.map(exported)));
      expect(await READ[format](await take({ company_id, format }))).toHaveLength(MANY / 2);
    }
  });

  test("an export ends with its receiver", async () => {
    const company_id = await company([modelEvent(), modelEvent()]);
    for (const format of EXPORT_FORMATS) {
      const gone = new Error("gone");
      const refusing = store().export({ company_id, format, keys: KEYS }, () => Promise.reject(gone), LIMITS);
      expect(await refusing.catch((error: unknown) => error)).toBe(gone);
      const leaving = new AbortController();
      const write = async (): Promise<void> => {
        leaving.abort(gone);
        await Promise.withResolvers<void>().promise;
      };
      const left = store().export({ company_id, format, keys: KEYS }, write, {
        ...LIMITS,
        signal: leaving.signal,
      });
      expect(await left.catch((error: unknown) => error)).toBe(gone);
    }
  });
}
