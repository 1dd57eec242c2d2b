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
import { openExaminedStore } from "../../usage_store/clickhouse/maintain/examine_store.ts";
import type { EngineLimits } from "../../usage_store/duckdb/engine/database.ts";
import { LIMITS } from "../limits.ts";
import type { ErasedIds } from "../erased_ids.ts";
import type { ErasedPeople } from "../../people/queries.ts";
import type { Manifest } from "../manifest.ts";
import { claimPlace, completePlace, type Place } from "./place.ts";
import type { Point } from "./point.ts";
import { type Proved, proveRestored } from "../verify/prove_restored.ts";
import { restoreUsage } from "./restore_usage.ts";
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
  /** How many lanes a usage store in ClickHouse gets. */
  readonly lanes: number;
  /** How many bills are proved of usage that went to ClickHouse; 200 by default. */
  readonly bills?: number;
  /** Called with what is being done, in a few words. */
  readonly onProgress?: (text: string) => void;
}

/** What was restored, and how long it took. */
export interface Restored {
  readonly rows: number;
  readonly events: number;
  readonly documents: number;
  readonly duration_ms: number;
  /** What was compared with the backup: where usage went to ClickHouse. */
  readonly proof?: Proof;
}

type Proof = Pick<Proved, "hours" | "bills">;

/** Bills that are proved of what was restored, and their draw: the same each time, so that a repeated restore says the same. */
const BILLS = 200;
const SEED = 1;

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
  const events = await restoreUsage(point, place, scratch, options);
  const rows = await restoreRows(point, place, scratch, options);
  const proof = place.usage_url === null ? undefined : await prove(manifest, place, options);
  rmSync(scratch, { recursive: true });
  makePrivate(place.data_dir);
  await completePlace(place);
  const duration_ms = Math.round(performance.now() - started);
  return { rows, events, documents: documents.length, duration_ms, ...(proof && { proof }) };
}

/**
 * Proves what another engine than the backup's holds, before a server may use it.
 * Errors: throws what differs.
 */
async function prove(
  manifest: Manifest,
  { database_url, usage_url }: Place,
  options: RestoreOptions,
): Promise<Proof> {
  if (database_url === null || usage_url === null) throw new TypeError("There is no other engine to look at");
  const store = await openPostgres(database_url, options.constraints);
  try {
    const usage = await openExaminedStore(usage_url);
    try {
      const { problems, ...proof } = await proveRestored(
        manifest,
        { store, usage },
        { ...options, bills: options.bills ?? BILLS, seed: SEED },
      );
      if (problems.length > 0)
        throw new Error(`What was restored is not what was backed up: ${problems.join("; ")}`);
      return proof;
    } finally {
      await usage.close();
    }
  } finally {
    await store.close();
  }
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

async function restoreRows(
  point: Point,
  { data_dir, database_url, usage_url }: Place,
  scratch: string,
  {
    tables,
    constraints,
    now,
    lanes,
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
    const revival = {
      tables,
      last_seq: manifest.last_seq,
      point: manifest.instant,
      lanes: usage_url === null ? 0 : lanes,
      erased,
      erased_people,
    };
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
