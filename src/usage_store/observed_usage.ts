import { span } from "../core/trace.ts";
import { questionSeconds } from "./metrics.ts";
import type { SumsCheck, UsageStore } from "./port.ts";

/** A usage store whose work is timed and traced, whichever engine it is on. */
export interface ObservedUsage extends UsageStore {
  /** Sums that were not those of their events, as the last checks of each company or of all found them. */
  readonly different_sums: number;
}

/** Times and traces the work of a usage store. */
export function observedUsage(store: UsageStore): ObservedUsage {
  const different = new Map<number | null, number>();
  const remember = (company_id: number | null, check: SumsCheck): SumsCheck => {
    // What is true of all replaces what was true of each.
    if (company_id === null) different.clear();
    different.set(company_id, check.different);
    return check;
  };
  return {
    get different_sums() {
      return different.values().reduce((sum, count) => sum + count, 0);
    },
    get running_totals() {
      return store.running_totals;
    },
    append: (company_id, events, now_ms) =>
      span("usage append", { attributes: { "meterhouse.events": events.length } }, () =>
        store.append(company_id, events, now_ms),
      ),
    load: (company_id, rows, now_ms) =>
      span("usage load", { attributes: { "meterhouse.events": rows.rows } }, () =>
        store.load(company_id, rows, now_ms),
      ),
    stage: (...given) => store.stage(...given),
    search: (...given) => question("search", () => store.search(...given)),
    aggregate: (...given) => question("aggregate", () => store.aggregate(...given)),
    series: (...given) => question("series", () => store.series(...given)),
    seriesFrames: (...given) => question("series_frames", () => store.seriesFrames(...given)),
    metadataKeys: (...given) => question("metadata_keys", () => store.metadataKeys(...given)),
    lastSeq: (...given) => question("last_seq", () => store.lastSeq(...given)),
    totals: (...given) => question("totals", () => store.totals(...given)),
    measure: (...given) => question("measure", () => store.measure(...given)),
    haveLateEvents: (...given) => question("late_events", () => store.haveLateEvents(...given)),
    sums: (...given) => question("sums", () => store.sums(...given)),
    export: (...given) => question("export", () => store.export(...given)),
    exportSegment: (...given) => question("segment", () => store.exportSegment(...given)),
    monthDigests: (...given) => question("digests", () => store.monthDigests(...given)),
    check: async (company_id, timeout_ms) =>
      remember(company_id, await question("check", () => store.check(company_id, timeout_ms))),
    rebuildSums: () => store.rebuildSums(),
    findStored: (...args) => store.findStored(...args),
    findUnerased: (...args) => store.findUnerased(...args),
    erase: (...args) => store.erase(...args),
    sinceOf: (company_id) => store.sinceOf(company_id),
    closeBefore: (...args) => store.closeBefore(...args),
    removeClosed: (...args) => store.removeClosed(...args),
    holdRemovals: () => store.holdRemovals(),
    exportKept: (...given) => question("kept", () => store.exportKept(...given)),
    stats: () => store.stats(),
    ping: (timeout_ms) => store.ping(timeout_ms),
    close: () => store.close(),
  };
}

function question<T>(kind: string, ask: () => Promise<T>): Promise<T> {
  return span(`usage ${kind}`, {}, async () => {
    const began_ms = performance.now();
    try {
      return await ask();
    } finally {
      questionSeconds.of(kind).observeSince(began_ms);
    }
  });
}
