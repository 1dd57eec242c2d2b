import { mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { chunks } from "../../core/chunk.ts";
import { makePrivate } from "../../core/file_permissions.ts";
import { syncPath } from "../../core/sync_path.ts";
import { checkSnapshot } from "../../store/check_snapshot.sqlite.ts";
import type { Constraints } from "../../store/constraints.ts";
import { type AnyTable, copyRows } from "../../store/copy_rows.ts";
import { openPostgres } from "../../store/postgres.ts";
import { openSqlite } from "../../store/sqlite.ts";
import type { EngineLimits } from "../../usage_store/duckdb/engine/database.ts";
import { loadSegments } from "../../usage_store/duckdb/maintain/load_segments.ts";
import { LIMITS } from "../limits.ts";
import type { ErasedIds } from "../erased_ids.ts";
import type { ErasedPeople } from "../../people/queries.ts";
import type { Manifest } from "../manifest.ts";
import { claimPlace, completePlace, type Place } from "./place.ts";
import type { Point } from "./point.ts";
import { reviveRows } from "./revive_rows.ts";

/** Progress is told of each so many rows, and documents. */
const ROWS_TOLD = 50_000;
const DOCUMENTS_TOLD = 100 * LIMITS.fetch_at_once;

type Documents = Manifest["documents"];

/** What a restore needs of this program. */
export interface RestoreOptions {
  readonly tables: readonly AnyTable[];
  readonly constraints: Constraints;
  readonly engine: EngineLimits;
  readonly now: Temporal.Instant;
  /** Which of the documents are restored; all by default. */
  readonly documents?: Documents;
  /** Ids of erased events that are beside the points: restored metadata of theirs is erased again. */
  readonly erased?: readonly ErasedIds[];
  /** Erasures of people that are beside the points: they are done again. */
  readonly erased_people?: readonly ErasedPeople[];
  /** Called with what is being done, in a few words. */
  readonly onProgress?: (text: string) => void;
}

/** What was restored, and how long it took. */
export interface Restored {
  readonly rows: number;
  readonly events: number;
  readonly documents: number;
  readonly duration_ms: number;
}

/**
 * Restores a point into an empty place. Every object is checked before it is used; the place is marked as incomplete
 * until all is there. Errors: throws what is damaged or missing, or why the place can't be used. Decision 0187.
 */
export async function restorePoint(given: Point, place: Place, options: RestoreOptions): Promise<Restored> {
  const { onProgress: tell = () => undefined } = options;
  const started = performance.now();
  await claimPlace(place, `the point of ${given.manifest.instant}`);
  const scratch = join(place.data_dir, "restoring");
  mkdirSync(scratch, { mode: 0o700 });
  const point = (await given.prepare?.(scratch)) ?? given;
  const { manifest } = point;
  const { documents = manifest.documents } = options;
  await restoreDocuments(point, documents, place.data_dir, tell);
  tell(`usage: ${manifest.events} events`);
  const events = await restoreUsage(point, place.data_dir, scratch, options);
  const rows = await restoreRows(point, place, scratch, options);
  rmSync(scratch, { recursive: true });
  makePrivate(place.data_dir);
  await completePlace(place);
  return { rows, events, documents: documents.length, duration_ms: Math.round(performance.now() - started) };
}

async function restoreDocuments(
  point: Point,
  documents: Documents,
  data_dir: string,
  tell: (text: string) => void,
): Promise<void> {
  const folders = new Set<string>();
  let done = 0;
  for (const batch of chunks(documents, LIMITS.fetch_at_once)) {
    if (done % DOCUMENTS_TOLD === 0) tell(`documents: ${done} of ${documents.length}`);
    done += batch.length;
    await Promise.all(
      batch.map(async (document) => {
        const { company_id, sha256 } = document;
        const path = join(data_dir, "documents", String(company_id), sha256.slice(0, 2), sha256);
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        folders.add(dirname(path));
        await point.fetch(document, path);
      }),
    );
  }
  for (const folder of folders) await syncPath(folder);
}

/** Errors: throws where other events come out than the point has. */
async function restoreUsage(
  point: Point,
  data_dir: string,
  scratch: string,
  { engine }: RestoreOptions,
): Promise<number> {
  const { manifest } = point;
  const files: { path: string; events: number }[] = [];
  for (const batch of chunks([...manifest.segments.entries()], LIMITS.fetch_at_once)) {
    await Promise.all(
      batch.map(async ([i, segment]) => {
        const path = join(scratch, `${i}.parquet`);
        files.push({ path, events: segment.events });
        await point.fetch(segment, path);
      }),
    );
  }
  const path = join(data_dir, "usage.duckdb");
  const kept = manifest.kept && { path: join(scratch, "kept.parquet"), since: manifest.kept.since };
  if (manifest.kept && kept) await point.fetch(manifest.kept, kept.path);
  const events = await loadSegments(path, files, { ...engine, last_seq: manifest.last_seq, kept });
  if (events > manifest.events || (events < manifest.events && point.is_cut !== true)) {
    throw new Error(`The segments of usage hold ${events} events; the manifest says ${manifest.events}`);
  }
  for (const file of [...files, ...(kept ? [kept] : [])]) rmSync(file.path);
  await syncPath(path);
  return events;
}

async function restoreRows(
  point: Point,
  { data_dir, database_url }: Place,
  scratch: string,
  {
    tables,
    constraints,
    now,
    erased = [],
    erased_people = [],
    onProgress: tell = () => undefined,
  }: RestoreOptions,
): Promise<number> {
  const path =
    database_url === null ? join(data_dir, "meterhouse.sqlite") : join(scratch, "meterhouse.sqlite");
  const { manifest } = point;
  tell(`records: ${Math.ceil(manifest.rows.size / 1_000_000)} MB`);
  await point.fetch(manifest.rows, path);
  tell("records: checking pages and references");
  const { rows, problems } = checkSnapshot(path, manifest.counts);
  if (problems.length > 0) throw new Error(`${manifest.rows.name} is damaged: ${problems.join("; ")}`);
  const store = await openSqlite(path, constraints);
  try {
    const revival = { tables, last_seq: manifest.last_seq, point: manifest.instant, erased, erased_people };
    await store.tx((q) => reviveRows(q, now, revival));
    if (database_url !== null) {
      const target = await openPostgres(database_url, constraints);
      try {
        let told = 0;
        const onRows = (copied: number): void => {
          if (copied < told + ROWS_TOLD) return;
          told = copied;
          tell(`records: ${copied} of ${rows}`);
        };
        await target.tx((q) => copyRows(store.read, q, tables, { onRows }));
      } finally {
        await target.close();
      }
    }
  } finally {
    await store.close();
  }
  await syncPath(path);
  return rows;
}
