import { DuckDBInstance } from "@duckdb/node-api";
import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { bucketSql } from "../../../src/usage_store/duckdb/query/series_buckets.ts";
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

test("a bucket is found by a few divisions, whatever the edges", async () => {
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
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
      const list = instants.map((at) => `((${at})::BIGINT)`).join(", ");
      const found = await connection.runAndReadAll(
        `SELECT instant, (${bucketSql("instant", edges)})::INTEGER FROM (VALUES ${list}) AS instants(instant)`,
      );
      expect(found.getRows()).toEqual(instants.map((at) => [BigInt(at), bucketOf(at, edges)]));
    }),
    propertyCases(200),
  );
  connection.closeSync();
  instance.closeSync();
});
