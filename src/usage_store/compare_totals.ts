import { chunks } from "../core/chunk.ts";
import type { Decimal } from "../core/money.ts";
import { type Measured, readFrom } from "./meter.ts";
import type { UsageStore } from "./port.ts";
import { MAX_GROUPS } from "./running/window_totals.ts";
import type { Watch, WatchedTotals } from "./running_totals.ts";

/** A total that is not what the store measures. */
export interface TotalsDifference {
  watch: Watch;
  group: string | null;
  kept: Decimal;
  measured: Decimal;
}

/** `unproved`: watches that were not certain, have too many groups, or need events that were removed. */
export interface TotalsComparison {
  compared: number;
  unproved: number;
  different: TotalsDifference[];
}

/** Watches of one query, and the parts that it may find: each as many groups as have totals. */
const BATCH = 100;
const MAX_PARTS = BATCH * MAX_GROUPS;

/**
 * Compares totals of the windows that hold an instant with what the store measures of the same events; appends go on
 * meanwhile. What differs is looked at a second time, as metadata may have been erased meanwhile.
 * Errors: as `measure`.
 */
export async function compareTotals(
  store: Pick<UsageStore, "measure" | "running_totals" | "sinceOf">,
  all: readonly WatchedTotals[],
  ms: number,
  timeout_ms: number,
): Promise<TotalsComparison> {
  const result: TotalsComparison = { compared: 0, unproved: 0, different: [] };
  for (const of_company of Map.groupBy(all, ({ watch }) => watch.company_id).values()) {
    for (const batch of chunks(of_company, BATCH)) {
      const first = await compareBatch(store, batch, ms, timeout_ms);
      result.compared += first.compared;
      result.unproved += batch.length - first.compared;
      if (first.different.length === 0) continue;
      const suspects = new Set(first.different.map(({ watch }) => watch));
      const again = batch.filter(({ watch }) => suspects.has(watch));
      result.different.push(...(await compareBatch(store, again, ms, timeout_ms)).different);
    }
  }
  return result;
}

async function compareBatch(
  store: Pick<UsageStore, "measure" | "running_totals" | "sinceOf">,
  batch: readonly WatchedTotals[],
  ms: number,
  timeout_ms: number,
): Promise<Omit<TotalsComparison, "unproved">> {
  const company_id = batch[0]?.watch.company_id ?? 0;
  const since_ms = store.sinceOf(company_id);
  const last_seq = store.running_totals.lastSeqOf(company_id);
  // In one turn, so that all are of the same events.
  const kept = batch.flatMap((watched) => {
    const window = { ...watched.watch.calendar.at(ms), since_ms: watched.watch.since_ms };
    const is_provable =
      watched.is_certain &&
      watched.hasAllGroups(ms) &&
      ms >= watched.watch.from_ms &&
      readFrom(watched.watch.meter, { ...window, subscription_id: 0, use: 0 }) >= since_ms;
    return is_provable ? [{ watch: watched.watch, window, totals: [...watched.groupsAt(ms)] }] : [];
  });
  if (kept.length === 0) return { compared: 0, different: [] };
  const uses = kept.map(({ watch: { meter, per } }) => ({
    meter,
    parts: { keys: per === null ? [] : [per] },
  }));
  const windows = kept.map(({ watch: { subscription_id }, window }, use) => ({
    ...window,
    subscription_id,
    use,
  }));
  const measured = await store.measure(
    { company_id, uses, windows, max_parts: MAX_PARTS, last_seq },
    timeout_ms,
  );
  const different = kept.flatMap(({ watch, totals }, i) => {
    const ours = new Map(totals.map(({ group, quantity }) => [group, quantity]));
    const theirs = new Map((measured[i] ?? []).map((part) => [groupOf(part), part.quantity]));
    return [...new Set([...ours.keys(), ...theirs.keys()])].flatMap((group) => {
      const found = { kept: ours.get(group) ?? "0", measured: theirs.get(group) ?? "0" };
      return found.kept === found.measured ? [] : [{ watch, group, ...found }];
    });
  });
  return { compared: kept.length, different };
}

function groupOf({ part }: Measured): string | null {
  return typeof part === "number" ? null : (part[0] ?? null);
}
