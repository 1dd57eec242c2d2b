import { afterAll } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDuckDb } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import { TESTS_ALL } from "../../support/properties.ts";
import { usageStoreConformance } from "../conformance.ts";
import { EAGER } from "./eager_limits.ts";

const folder = await mkdtemp(join(tmpdir(), "usage-"));
afterAll(() => rm(folder, { recursive: true }));

let files = 0;
const newPath = (): string => join(folder, `${++files}.duckdb`);

usageStoreConformance(
  "the DuckDB usage store, compacting all the time",
  () => openDuckDb({ path: newPath(), compaction: EAGER, few_events: 0 }),
  // Those that store or change something while it compacts: compacted_conformance.test.ts asks for what stands there then.
  TESTS_ALL
    ? undefined
    : new Set(["appended events", "totals", "erasure", "running totals", "removals", "segments", "exports"]),
);
