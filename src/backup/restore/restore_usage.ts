import { rmSync } from "node:fs";
import { join } from "node:path";
import { chunks } from "../../core/chunk.ts";
import { syncPath } from "../../core/sync_path.ts";
import { loadedDigests, loadStore } from "../../usage_store/clickhouse/maintain/load_store.ts";
import type { EngineLimits } from "../../usage_store/duckdb/engine/database.ts";
import { loadSegments, type SegmentFile } from "../../usage_store/duckdb/maintain/load_segments.ts";
import { readKept, readSegment, segmentDigests } from "../../usage_store/duckdb/query/read_files.ts";
import type { KeptSince } from "../../usage_store/removals.ts";
import type { ContentDigest, SegmentRow } from "../../usage_store/segment_rows.ts";
import { LIMITS } from "../limits.ts";
import type { Place } from "./place.ts";
import type { Point } from "./point.ts";

/** Progress is told of each so many events. */
const EVENTS_TOLD = 100_000;

/** The files of a point's usage. */
interface UsageFiles {
  segments: readonly SegmentFile[];
  kept?: { path: string; since: readonly KeptSince[] } | undefined;
  last_seq: number;
}

interface UsageOptions {
  engine: EngineLimits;
  lanes: number;
  onProgress?: (text: string) => void;
}

/**
 * Restores the usage events of a point, and returns how many they are.
 * Errors: throws where others come out than the point has.
 */
export async function restoreUsage(
  point: Point,
  { data_dir, usage_url }: Place,
  scratch: string,
  options: UsageOptions,
): Promise<number> {
  const { manifest } = point;
  const files = await fetchFiles(point, scratch);
  const events =
    usage_url === null
      ? await toFile(join(data_dir, "usage.duckdb"), files, options)
      : await toClickHouse(usage_url, files, manifest.events, options);
  if (events > manifest.events || (events < manifest.events && point.is_cut !== true)) {
    throw new Error(`The segments of usage hold ${events} events; the manifest says ${manifest.events}`);
  }
  for (const { path } of [...files.segments, ...(files.kept ? [files.kept] : [])]) rmSync(path);
  return events;
}

async function fetchFiles(point: Point, scratch: string): Promise<UsageFiles> {
  const { segments, kept, last_seq } = point.manifest;
  const files: SegmentFile[] = [];
  for (const batch of chunks([...segments.entries()], LIMITS.fetch_at_once)) {
    await Promise.all(
      batch.map(async ([i, segment]) => {
        const path = join(scratch, `${i}.parquet`);
        files.push({ path, events: segment.events });
        await point.fetch(segment, path);
      }),
    );
  }
  if (!kept) return { segments: files, last_seq };
  const path = join(scratch, "kept.parquet");
  await point.fetch(kept, path);
  return { segments: files, kept: { path, since: kept.since }, last_seq };
}

async function toFile(
  path: string,
  { segments, kept, last_seq }: UsageFiles,
  { engine }: UsageOptions,
): Promise<number> {
  const events = await loadSegments(path, segments, { ...engine, last_seq, kept });
  await syncPath(path);
  return events;
}

async function toClickHouse(
  url: string,
  { segments, kept, last_seq }: UsageFiles,
  expected: number,
  { engine, lanes, onProgress: tell = () => undefined }: UsageOptions,
): Promise<number> {
  async function* events(): AsyncGenerator<SegmentRow[]> {
    for (const { path } of segments) yield* readSegment(path, last_seq, engine);
  }
  let told = 0;
  const stored = await loadStore(url, {
    events: events(),
    last_seq,
    kept: kept && { hours: readKept(kept.path, engine), since: kept.since },
    lanes,
    onLoaded(loaded) {
      if (loaded < told + EVENTS_TOLD) return;
      told = loaded;
      tell(`usage: ${loaded} of ${expected} events`);
    },
  });
  tell("usage: comparing what was stored");
  const paths = segments.map(({ path }) => path);
  const differing = differingContent(await segmentDigests(paths, last_seq, engine), await loadedDigests(url));
  if (differing.length > 0)
    throw new Error(`What was restored is not what was backed up: usage of ${differing.join("; ")}`);
  return stored;
}

/** The months whose events two engines hold otherwise. */
export function differingContent(
  expected: readonly ContentDigest[],
  found: readonly ContentDigest[],
): string[] {
  const [wanted, there] = [new Set(expected.map(textOf)), new Set(found.map(textOf))];
  return [
    ...[...wanted.difference(there)].map((text) => `${text} are not there`),
    ...[...there.difference(wanted)].map((text) => `${text} are there`),
  ];
}

function textOf({ company_id, month, events, digest }: ContentDigest): string {
  return `company ${company_id}, ${month}: ${events} events (${digest})`;
}
