import { afterAll } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDuckDb } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import type { UsageStore } from "../../../src/usage_store/port.ts";
import { TESTS_ALL } from "../../support/properties.ts";
import { usageStoreConformance } from "../conformance.ts";
import { EAGER } from "./eager_limits.ts";

const folder = await mkdtemp(join(tmpdir(), "usage-"));
afterAll(() => rm(folder, { recursive: true }));

let files = 0;
const newPath = (): string => join(folder, `${++files}.duckdb`);

async function openCompacted(): Promise<UsageStore> {
  const compaction_limits = { ...EAGER, hot_rows: 1_000_000 };
  const store = await openDuckDb({ path: newPath(), compaction: compaction_limits, few_events: 0 });
  let compaction: Promise<void> | undefined;
  /** Compacts what came since the last question. */
  const compacted = async (): Promise<UsageStore> => {
    compaction ??= store.compact();
    await compaction;
    return store;
  };
  return {
    running_totals: store.running_totals,
    async append(...call) {
      const result = await store.append(...call);
      compaction = undefined;
      return result;
    },
    search: async (...call) => (await compacted()).search(...call),
    aggregate: async (...call) => (await compacted()).aggregate(...call),
    series: async (...call) => (await compacted()).series(...call),
    seriesFrames: async (...call) => (await compacted()).seriesFrames(...call),
    metadataKeys: async (...call) => (await compacted()).metadataKeys(...call),
    totals: async (...call) => (await compacted()).totals(...call),
    measure: async (...call) => (await compacted()).measure(...call),
    lastSeq: async (...call) => (await compacted()).lastSeq(...call),
    haveLateEvents: async (...call) => (await compacted()).haveLateEvents(...call),
    sums: async (...call) => (await compacted()).sums(...call),
    load: (...call) => store.load(...call),
    stage: (...call) => store.stage(...call),
    export: (...call) => store.export(...call),
    exportSegment: async (...call) => (await compacted()).exportSegment(...call),
    monthDigests: async (...call) => (await compacted()).monthDigests(...call),
    check: (...call) => store.check(...call),
    rebuildSums: () => store.rebuildSums(),
    sinceOf: (company_id) => store.sinceOf(company_id),
    closeBefore: (...call) => store.closeBefore(...call),
    removeClosed: (...call) => store.removeClosed(...call),
    holdRemovals: () => store.holdRemovals(),
    exportKept: (...call) => store.exportKept(...call),
    findStored: async (...call) => (await compacted()).findStored(...call),
    findUnerased: async (...call) => (await compacted()).findUnerased(...call),
    erase: async (...call) => (await compacted()).erase(...call),
    stats: () => store.stats(),
    ping: (...call) => store.ping(...call),
    close: () => store.close(),
  };
}

usageStoreConformance(
  "the DuckDB usage store, all compacted",
  openCompacted,
  // Those that ask or change what stands in segments: what a value is, or a total, does not depend on that.
  TESTS_ALL
    ? undefined
    : new Set(["appended events", "search", "series", "totals", "meters", "erasure", "removals", "segments"]),
);
