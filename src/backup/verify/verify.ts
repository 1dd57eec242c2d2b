import { rmSync } from "node:fs";
import { join } from "node:path";
import { drawing } from "../../billing/proof/rules.ts";
import { openSqlite } from "../../store/sqlite.ts";
import { openExamined } from "../../usage_store/duckdb/maintain/examine_file.ts";
import { LIMITS } from "../limits.ts";
import type { Point } from "../restore/point.ts";
import { proveRestored } from "./prove_restored.ts";
import type { VerifyReport } from "./report.ts";
import { restorePoint, type RestoreOptions } from "../restore/restore.ts";

/** How a point is verified. */
export interface VerifyOptions extends Omit<RestoreOptions, "documents"> {
  /** How many bills are proved, and documents are read; those of `seed`. */
  readonly bills: number;
  readonly seed: number;
  /** A folder that is emptied, used and removed. */
  readonly scratch: string;
}

/**
 * Restores a point into a scratch folder and proves that it is whole: the bytes of each object, rows by table, the
 * digests of usage, sums by hour against their events, bills against theirs. Never throws for what is wrong with the
 * point. Decision 0188.
 */
export async function verifyPoint(point: Point, options: VerifyOptions): Promise<VerifyReport> {
  const { scratch, seed } = options;
  const { manifest } = point;
  const documents = drawn(manifest.documents, LIMITS.verify_documents, drawing(seed));
  const problems: string[] = [];
  const report: VerifyReport = {
    point: manifest.instant,
    seed,
    problems,
    documents_in_all: manifest.documents.length,
    documents: 0,
    restore_ms: 0,
    rows: 0,
    events: 0,
    hours: 0,
    bills: 0,
    bills_unproved: 0,
  };
  rmSync(scratch, { recursive: true, force: true });
  try {
    const place = { data_dir: scratch, database_url: null, usage_url: null };
    const { duration_ms, ...counts } = await restorePoint(point, place, { ...options, documents });
    Object.assign(report, counts, { restore_ms: duration_ms });
    Object.assign(report, await examine(point, options, problems));
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return report;
}

/** Compares what was restored with itself and with the manifest; adds to `problems`. */
async function examine(
  point: Point,
  { scratch, engine, constraints, ...options }: VerifyOptions,
  problems: string[],
): Promise<Pick<VerifyReport, "hours" | "bills" | "bills_unproved">> {
  const usage = await openExamined(join(scratch, "usage.duckdb"), engine);
  try {
    const store = await openSqlite(join(scratch, "meterhouse.sqlite"), constraints);
    try {
      const { problems: found, ...proved } = await proveRestored(point.manifest, { store, usage }, options);
      problems.push(...found);
      return proved;
    } finally {
      await store.close();
    }
  } finally {
    await usage.close();
  }
}

/** So many of a list, each as likely as any other. */
function drawn<T>(all: readonly T[], wanted: number, below: (n: number) => number): T[] {
  if (all.length <= wanted) return [...all];
  const chosen = new Set<number>();
  while (chosen.size < wanted) chosen.add(below(all.length));
  return all.filter((_, i) => chosen.has(i));
}
