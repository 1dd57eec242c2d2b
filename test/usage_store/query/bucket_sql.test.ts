import { DuckDBInstance } from "@duckdb/node-api";
import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { ClickHouse } from "../../../src/usage_store/clickhouse/engine/engine.ts";
import { asNumber } from "../../../src/usage_store/clickhouse/engine/sql.ts";
import { bucketSql } from "../../../src/usage_store/query/bucket_sql.ts";
import { startClickHouse, whyNoClickHouse } from "../../support/clickhouse.ts";
import { propertyCases } from "../../support/properties.ts";

// The bucket of an instant in SQL, against looking through all edges.

const HOUR_MS = 3_600_000;

/** The last bucket that begins by then. */
function bucketOf(at: number, edges: readonly number[]): number {
  const starts = edges.slice(0, -1);
  return starts.findLastIndex((edge) => edge <= Math.max(at, edges[0] ?? 0));
}

const widths = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(24, 24, 24, 25, 23) },
    { weight: 2, arbitrary: fc.constantFrom(1, 28 * 24, 30 * 24, 31 * 24) },
    { weight: 1, arbitrary: fc.constant(0) },
  ),
  { minLength: 1, maxLength: 60 },
);

/** `ask` gives the value of an expression of the column `instant` for each instant. */
async function assertBuckets(
  divide: Parameters<typeof bucketSql>[2],
  ask: (expression: string, instants: readonly number[]) => Promise<number[]>,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 1e12 }), widths, async (start, hours) => {
      const edges = [start];
      for (const width of hours) edges.push((edges.at(-1) ?? 0) + width * HOUR_MS);
      const instants = edges.flatMap((edge) => [
        edge - HOUR_MS,
        edge - 1,
        edge,
        edge + 1,
        edge + HOUR_MS / 2,
      ]);
      const found = await ask(bucketSql("instant", edges, divide), instants);
      expect(found).toEqual(instants.map((at) => bucketOf(at, edges)));
    }),
    propertyCases(200),
  );
}

test("a bucket is found by a few divisions, whatever the edges", async () => {
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  await assertBuckets(
    (dividend, divisor) => `(${dividend}) // ${divisor}`,
    async (expression, instants) => {
      const list = instants.map((at) => `((${at})::BIGINT)`).join(", ");
      const found = await connection.runAndReadAll(
        `SELECT (${expression})::INTEGER FROM (VALUES ${list}) AS instants(instant)`,
      );
      return found.getRows().map(([bucket]) => Number(bucket));
    },
  );
  connection.closeSync();
  instance.closeSync();
});

test.skipIf(whyNoClickHouse() !== null)("ClickHouse finds it, too", async () => {
  const server = await startClickHouse();
  const engine = ClickHouse.connect(await server.createDatabase());
  await assertBuckets(
    (dividend, divisor) => `intDiv(${dividend}, ${divisor})`,
    async (expression, instants) => {
      const sql = `SELECT toInt64(${expression}) FROM (SELECT arrayJoin(CAST([${instants.join()}], 'Array(Int64)')) AS instant)`;
      return (await engine.ask(sql, { timeout_ms: 60_000 })).map(([bucket]) => asNumber(bucket));
    },
  );
  await engine.close();
  await server.stop();
});
