import { rename } from "node:fs/promises";
import { join } from "node:path";
import { chunks } from "../../core/chunk.ts";
import { instant as readInstant, iso } from "../../core/time.ts";
import { LIMITS } from "../limits.ts";
import type { BackupObject, Manifest } from "../manifest.ts";
import { openPoint, type Point } from "../restore/point.ts";
import { readFacts } from "../row_queries.ts";
import { type LogPiece, replayLog } from "../../store/replay_log.ts";
import type { Target } from "../target.ts";
import { describeRanges, listRanges, type LogRange } from "./ranges.ts";
import { listRecords, type LogRecord, readRecord } from "./record.ts";

/** A point with its log up to an instant. */
export interface PointAt extends Point {
  /** What it is restored to: the last instant at or before the one asked for that was shipped. */
  readonly instant: string;
}

/** What the rows of an instant refer to, and the backup does not have. */
type OnMissing = (documents: readonly string[]) => void;

/**
 * Opens a point, or the `latest` that allows it, with its log up to an instant. Errors: throws where the log does not
 * cover the instant, and says what it covers; where there is no such point.
 */
export async function openPointAt(
  target: Target,
  point: string,
  asked: Temporal.Instant,
  { identity = null, onMissing = () => undefined }: { identity?: string | null; onMissing?: OnMissing } = {},
): Promise<PointAt> {
  const until = asked.round({ smallestUnit: "millisecond", roundingMode: "floor" });
  const ranges = await listRanges(target, point === "latest" ? undefined : [point]);
  const range = ranges.findLast((one) => covers(one, until));
  if (!range) {
    const of = point === "latest" ? "" : ` of the point ${point}`;
    throw new Error(
      `Cannot restore ${iso(until)}: the log${of} at ${target.url} allows ${describeRanges(ranges)}`,
    );
  }
  const last = range.records.findLast(({ instant }) => isBy(instant, until));
  if (!last) throw new Error(`There is no base of ${iso(until)} at ${target.url}`);
  const base = await openPoint(target, range.point, identity);
  return {
    ...base,
    instant: last.instant,
    async prepare(scratch) {
      const names = (await listRecords(target, range.point)).filter(({ n }) => n <= last.n);
      const records: LogRecord[] = [];
      for (const batch of chunks(names, LIMITS.fetch_at_once))
        records.push(...(await Promise.all(batch.map(({ name }) => readRecord(target, name)))));
      return new Preparation(base, records, scratch, onMissing).prepare();
    },
  };
}

const isBy = (instant: string, until: Temporal.Instant) =>
  Temporal.Instant.compare(readInstant(instant), until) <= 0;

const covers = ({ from, to }: LogRange, until: Temporal.Instant) =>
  isBy(from, until) && Temporal.Instant.compare(until, readInstant(to)) <= 0;

/** Replays the log in a scratch folder, and adds to the point what was shipped since. */
class Preparation {
  readonly #point: Point;
  readonly #records: readonly LogRecord[];
  readonly #scratch: string;
  readonly #onMissing: OnMissing;

  constructor(point: Point, records: readonly LogRecord[], scratch: string, onMissing: OnMissing) {
    this.#point = point;
    this.#records = records;
    this.#scratch = scratch;
    this.#onMissing = onMissing;
  }

  async prepare(): Promise<Point> {
    const { manifest } = this.#point;
    const last = this.#records.at(-1);
    if (!last) throw new Error(`There is no log of the point ${manifest.instant}`);
    const path = await this.#replay();
    const facts = readFacts(path);
    // As with a point: what was stored before, and what a bill of these rows counts.
    const last_seq = Math.max(manifest.last_seq, last.usage_seq, facts.usage_seq);
    if (last_seq > last.stored_seq)
      throw new Error(
        `The log is damaged: usage is stored up to ${last.stored_seq}, its rows count up to ${last_seq}`,
      );
    const segments = [...manifest.segments, ...this.#records.flatMap((record) => record.segments)].filter(
      ({ from }) => from < last_seq,
    );
    const rows: BackupObject = { ...manifest.rows, name: `the log of the point ${manifest.instant}` };
    return {
      is_cut: true,
      manifest: {
        ...manifest,
        instant: last.instant,
        last_seq,
        segments,
        events: segments.reduce((sum, { events }) => sum + events, 0),
        digests: [],
        rows,
        counts: facts.counts,
        documents: this.#documents(facts.documents),
      },
      fetch: (object, to) => (object === rows ? rename(path, to) : this.#point.fetch(object, to)),
    };
  }

  /** Fetches the base and all pieces behind it, and replays them. */
  async #replay(): Promise<string> {
    const from = this.#records.findLastIndex(({ kind }) => kind === "base");
    const base = this.#records[from]?.base;
    if (!base) throw new Error("The log is damaged: its base is missing");
    const path = join(this.#scratch, "replayed.sqlite");
    await this.#point.fetch(base, path);
    const pieces: LogPiece[] = [];
    for (const batch of chunks(this.#records.slice(from), LIMITS.fetch_at_once)) {
      await Promise.all(batch.map(async ({ n, log }) => log && this.#point.fetch(log, this.#pathOf(n))));
      for (const { n, bytes, log } of batch) pieces.push({ ...bytes, path: log && this.#pathOf(n) });
    }
    await replayLog(path, pieces);
    return path;
  }

  #pathOf(n: number): string {
    return join(this.#scratch, `${n}.wal`);
  }

  /** The documents that the rows refer to, from the point and from what was shipped since. */
  #documents(wanted: readonly { company_id: number; sha256: string }[]): Manifest["documents"] {
    const all = [...this.#point.manifest.documents, ...this.#records.flatMap(({ documents }) => documents)];
    const there = new Map(all.map((document) => [keyOf(document), document]));
    const found = wanted.map((one) => there.get(keyOf(one)));
    this.#onMissing(wanted.filter((_, i) => !found[i]).map(keyOf));
    return found.flatMap((document) => document ?? []);
  }
}

const keyOf = ({ company_id, sha256 }: { company_id: number; sha256: string }) => `${company_id}/${sha256}`;
