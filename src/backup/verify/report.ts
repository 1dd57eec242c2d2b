import { existsSync, readFileSync, writeFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

/** What a verification found. */
export const VerifyReport = Type.Object({
  point: Type.String(),
  /** How long it took to restore the point, with the documents that were drawn. */
  restore_ms: Type.Integer(),
  rows: Type.Integer(),
  events: Type.Integer(),
  hours: Type.Integer(),
  bills: Type.Integer(),
  /** How many of them are not proved. */
  bills_unproved: Type.Integer(),
  documents: Type.Integer(),
  documents_in_all: Type.Integer(),
  /** What bills and documents were drawn by. */
  seed: Type.Integer(),
  /** All that is wrong; empty for a point that can be restored to what it was. */
  problems: Type.Array(Type.String()),
});
export type VerifyReport = Static<typeof VerifyReport>;

/** A report as lines for people. */
export function describeReport(report: VerifyReport): string {
  const { point, restore_ms, rows, events, hours, bills, documents, documents_in_all, seed, problems } =
    report;
  const lines = [
    `Point ${point}, restored in ${(restore_ms / 1_000).toFixed(1)} s`,
    `${rows} rows by table, references and pages`,
    `${events} events, by company and month; ${hours} sums by hour`,
    `${bills} bills, rated anew from their events (seed ${seed})`,
    `${documents} of ${documents_in_all} documents`,
    ...problems.map((problem) => `WRONG: ${problem}`),
    problems.length === 0 ? "Nothing differs" : `Differences: ${problems.length}`,
  ];
  return lines.join("\n");
}

/** What is known of verifications: when the last one was, when one last found no difference (null: never), and its bills. */
export interface Verification {
  readonly verified_at: Temporal.Instant;
  readonly well_at: Temporal.Instant | null;
  /** How many of the bills that the last one drew are not proved. */
  readonly bills_unproved: number;
}

/** The report of the last verification in a data directory. An earlier version wrote no `verified_at`. */
const Saved = Type.Object({
  verified_at: Type.Optional(Type.String()),
  well_at: Type.Union([Type.String(), Type.Null()]),
  report: VerifyReport,
});

/** Where a point is restored to be verified: below a data directory, whose disk has room for it. */
export const scratchOf = (data_dir: string) => join(data_dir, "verifying");

const pathOf = (data_dir: string) => join(data_dir, "backup_verified.json");

/** Keeps a report for the server on this data directory. */
export function saveReport(data_dir: string, now: Temporal.Instant, report: VerifyReport): void {
  const path = pathOf(data_dir);
  const verified_at = now.toString();
  const well_at = report.problems.length === 0 ? verified_at : (readSaved(data_dir)?.well_at ?? null);
  writeFileSync(`${path}.new`, JSON.stringify({ verified_at, well_at, report }), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** Undefined where nothing was verified yet. */
function readSaved(data_dir: string): Static<typeof Saved> | undefined {
  const path = pathOf(data_dir);
  if (!existsSync(path)) return undefined;
  const saved: unknown = JSON.parse(readFileSync(path, "utf8"));
  return Value.Check(Saved, saved) ? saved : undefined;
}

/** What the last verification in a data directory found; undefined where there was none. */
export function readVerification(data_dir: string): Verification | undefined {
  const saved = readSaved(data_dir);
  if (saved === undefined) return undefined;
  const { well_at, report } = saved;
  return {
    verified_at: toInstant(saved.verified_at ?? well_at ?? report.point),
    well_at: well_at === null ? null : toInstant(well_at),
    bills_unproved: report.bills_unproved,
  };
}

/** As exact as records are. */
const toInstant = (text: string): Temporal.Instant =>
  Temporal.Instant.fromEpochMilliseconds(Temporal.Instant.from(text).epochMilliseconds);
