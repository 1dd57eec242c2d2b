import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import type { NewEvent, UsageStore } from "../../src/usage_store/port.ts";
import { modelEvent } from "./arbitrary_events.ts";
import { NOW_MS, TIMEOUT_MS } from "./fixtures.ts";
import { type ModelEvent, monthDigests } from "./reference_model.ts";

interface Place {
  store: () => UsageStore;
  company: (events: readonly NewEvent[]) => Promise<number>;
}

/** Cases of segments, as backups read them. */
export function segmentCases({ store, company }: Place): void {
  test("segments hold each event once, by number, and digests are of what they hold", async () => {
    const from = await store().lastSeq(0, TIMEOUT_MS);
    const drawn = (): ModelEvent[] =>
      ["2026-01-31T23:59:59.999Z", "2026-02-01T00:00:00Z", "1970-01-01T00:00:00Z"].map((text, i) =>
        modelEvent({
          id: crypto.randomUUID(),
          timestamp: Temporal.Instant.from(text).epochMilliseconds,
          ...(i === 0 ? { usage: "-0.000001", millionths: -1n } : {}),
        }),
      );
    const [first, second] = [drawn(), drawn()];
    const company_id = await company(first);
    const middle = await store().lastSeq(0, TIMEOUT_MS);
    const other_id = await company([]);
    await store().append(other_id, second, NOW_MS);
    const to = await store().lastSeq(0, TIMEOUT_MS);
    // Later events are in neither.
    await store().append(company_id, drawn(), NOW_MS);

    const digests = async (seq: number) =>
      (await store().monthDigests(seq, TIMEOUT_MS)).filter((month) => month.company_id >= company_id);
    expect(await digests(middle)).toEqual(monthDigests(company_id, first));
    expect(await digests(to)).toEqual([
      ...monthDigests(company_id, first),
      ...monthDigests(other_id, second),
    ]);

    const folder = mkdtempSync(join(tmpdir(), "segments-"));
    const engine = await DuckDBInstance.create(":memory:");
    const connection = await engine.connect();
    try {
      const segment = async (after: number, until: number) => {
        const path = join(folder, `${after}-${until}.parquet`);
        const written = await store().exportSegment(path, { from: after, to: until }, TIMEOUT_MS);
        expect(written.to).toBe(until);
        const rows =
          await connection.runAndReadAll(`SELECT company_id, subscription_id, timestamp::VARCHAR, id::VARCHAR,
          usage::VARCHAR, metadata, created_at::VARCHAR, seq > ${after} AND seq <= ${until} FROM '${path}' ORDER BY seq`);
        return { events: written.events, rows: rows.getRowsJson() };
      };
      const rowOf = (owner: number) => (event: ModelEvent) => [
        owner,
        event.subscription_id,
        String(event.timestamp),
        event.id,
        expect.stringMatching(/^-?\d+\.\d{6}$/),
        event.metadata,
        String(NOW_MS),
        true,
      ];
      const before = await segment(from, middle);
      expect(before.events).toBe(3);
      expect(before.rows).toEqual(expect.arrayContaining(first.map(rowOf(company_id))));
      expect((await segment(middle, to)).rows).toHaveLength(3);
      expect((await segment(from, to)).events).toBe(6);
      expect(await segment(to, to)).toEqual({ events: 0, rows: [] });
    } finally {
      connection.closeSync();
      engine.closeSync();
      rmSync(folder, { recursive: true });
    }
  });
  test("segments with a limit end where a commit ends, and hold all events between them", async () => {
    const from = await store().lastSeq(0, TIMEOUT_MS);
    const commits = [3, 1, 4, 1, 2];
    const company_id = await company([]);
    for (const events of commits) {
      const drawn = Array.from({ length: events }, () => modelEvent({ id: crypto.randomUUID() }));
      await store().append(company_id, drawn, NOW_MS);
    }
    const to = await store().lastSeq(0, TIMEOUT_MS);
    const folder = mkdtempSync(join(tmpdir(), "segments-"));
    try {
      for (const limit of [1, 4, 5, 11, 12]) {
        let [after, events, segments] = [from, 0, 0];
        while (after < to) {
          const path = join(folder, `${limit}-${after}.parquet`);
          const segment = await store().exportSegment(path, { from: after, to, limit }, TIMEOUT_MS);
          // At most a commit more than the limit.
          expect(segment.events).toBeLessThan(limit + 4);
          const expected = Math.min(limit, 11 - events);
          expect(segment.events).toBeGreaterThanOrEqual(expected);
          expect(segment.to).toBeGreaterThan(after);
          [after, events] = [segment.to, events + segment.events];
          segments++;
        }
        expect([after, events]).toEqual([to, 11]);
        expect(segments).toBeGreaterThan(limit < 11 ? 1 : 0);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}
