import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { iso } from "../core/time.ts";
import { VERSION } from "../core/version.ts";
import { blobName, type BlobStore } from "../store/blob_store.ts";
import type { Tables } from "../store/copy.postgres.ts";
import type { Store } from "../store/store.ts";
import type { UsageStore } from "../usage_store/port.ts";
import { Assistant } from "./assistant.ts";
import { MANIFEST_FORMAT, type Manifest, manifestName } from "./manifest.ts";
import { listPoints, newestPoint } from "./points.ts";
import type { RowFacts } from "./row_queries.ts";
import { piecesOf, type Target } from "./target.ts";

/** How long reading usage for a backup may take. */
const USAGE_MS = 3_600_000;
/** How long the point's cut may take: with ClickHouse each lane must have an owner. */
const CUT_MS = 600_000;
/** About how many events a segment has at most: its file is on disk while it is stored. */
const SEGMENT_EVENTS = 5_000_000;

/** What a point is taken of, and where it goes. */
export interface BackupSource {
  store: Store;
  usage: UsageStore;
  documents: BlobStore;
  data_dir: string;
  database_url: string | null;
  tables: Tables;
  target: Target;
  /** The age public key that objects are encrypted to. */
  recipient: string | null;
  now: Temporal.Instant;
  /** Whether the process is about to end: the backup is given up then. */
  isStopping: () => boolean;
  /** Called with what is being done. */
  onProgress?: (text: string) => void;
}

/** A point that was taken. */
export interface Taken {
  manifest: Manifest;
  /** Documents that records refer to and that are not there as they were stored: the point lacks them. */
  damaged_documents: string[];
  /** What is wrong at the target: manifests that can't be read, a newest point of a later time than the clock's. */
  problems: string[];
}

/**
 * Takes a point while everything goes on. It is there once its manifest is; one that fails or is killed leaves none.
 * One at a time: the caller holds the lock, which keeps documents from being removed meanwhile. Errors: throws what can't be read or written. Decision 0180.
 */
export async function takePoint(source: BackupSource): Promise<Taken> {
  const { target, data_dir, now } = source;
  const scratch = join(data_dir, "backup");
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch, { mode: 0o700 });
  using held = new DisposableStack();
  held.defer(() => rmSync(scratch, { recursive: true, force: true }));
  held.defer(await source.usage.holdRemovals());
  const assistant = new Assistant(source.isStopping);
  held.defer(() => assistant.close());
  const problems: string[] = [];
  const instant = instantAfter((await listPoints(target)).at(-1), iso(now), problems);
  const previous = await newestPoint(target, (problem) => problems.push(problem));
  const stored = new Set((await target.list("documents/")).map(({ name }) => name));
  const taking = new Taking(source, assistant, scratch);
  const { rows, facts, last_seq } = await taking.rows(instant);
  const usage = await taking.usage(last_seq, facts, previous);
  const kept_sums = await taking.keptSums(instant);
  const { kept, damaged } = await taking.documents(facts, stored);
  const manifest: Manifest = {
    format: MANIFEST_FORMAT,
    instant,
    program: VERSION.version,
    dialect: source.store.dialect,
    database_id: facts.database_id,
    last_seq,
    ...usage,
    ...(kept_sums ? { kept: kept_sums } : {}),
    rows,
    counts: facts.counts,
    documents: kept,
  };
  await target.write(manifestName(instant), piecesOf(JSON.stringify(manifest)));
  return { manifest, damaged_documents: damaged, problems };
}

/** A point is named later than all that are there, also once the clock was set back: the latest is the newest. */
function instantAfter(newest: string | undefined, now: string, problems: string[]): string {
  if (newest === undefined || newest < now) return now;
  const instant = iso(Temporal.Instant.from(newest).add({ milliseconds: 1 }));
  if (newest > now)
    problems.push(
      `The newest point is of ${newest}, and the clock says ${now}: this one is named ${instant}`,
    );
  return instant;
}

/** A point that is being taken. */
class Taking {
  readonly #source: BackupSource;
  readonly #assistant: Assistant;
  readonly #scratch: string;

  constructor(source: BackupSource, assistant: Assistant, scratch: string) {
    this.#source = source;
    this.#assistant = assistant;
    this.#scratch = scratch;
  }

  /** The snapshot of the rows, and the cut of usage that belongs to it. */
  async rows(instant: string) {
    const { store, usage, data_dir, database_url, tables } = this.#source;
    this.#tell("records");
    const path = join(this.#scratch, "rows.sqlite");
    // Before the snapshot: what is stored by now has its subscription in it.
    const stored_seq = await usage.lastSeq(0, CUT_MS);
    if (database_url === null || store.dialect === "sqlite") {
      await this.#assistant.do({ kind: "copy", from: join(data_dir, "meterhouse.sqlite"), to: path });
    } else {
      const { copyPostgres } = await import("../store/copy.postgres.ts");
      await copyPostgres(database_url, path, tables);
    }
    const facts = await this.#assistant.do({ kind: "facts", path });
    const rows = await this.#store(`rows/${instant}-${unique()}.sqlite`, path);
    return { rows, facts, last_seq: Math.max(stored_seq, facts.usage_seq) };
  }

  /** The segments up to the cut: those of the previous point and a new one, or all anew where the events are others. */
  async usage(
    last_seq: number,
    { database_id }: RowFacts,
    previous: Manifest | undefined,
  ): Promise<Pick<Manifest, "segments" | "digests" | "events">> {
    const { usage, recipient } = this.#source;
    this.#tell("digests of usage");
    const digests = await usage.monthDigests(last_seq, USAGE_MS);
    const events = digests.reduce((sum, month) => sum + month.events, 0);
    const is_ours =
      previous?.database_id === database_id &&
      previous.last_seq <= last_seq &&
      previous.segments.every((segment) => segment.recipient === recipient);
    const before = is_ours ? previous.segments : [];
    const added = await this.#segments(is_ours ? previous.last_seq : 0, last_seq, events - countOf(before));
    const shared = [...before, ...added];
    if (countOf(shared) === events) return { segments: shared, digests, events };
    const segments = await this.#segments(0, last_seq, events);
    if (countOf(segments) === events) return { segments, digests, events };
    throw new Error(`Cannot back usage up: ${events} events were counted and ${countOf(segments)} read`);
  }

  /** What was kept of removed events; undefined where none were. */
  async keptSums(instant: string): Promise<Manifest["kept"]> {
    const path = join(this.#scratch, "kept.parquet");
    const since = await this.#source.usage.exportKept(path, USAGE_MS);
    if (since.length === 0) return undefined;
    return { ...(await this.#store(`usage/kept/${instant}-${unique()}.parquet`, path)), since };
  }

  async #segments(from: number, last_seq: number, expected: number): Promise<Manifest["segments"]> {
    const segments: Manifest["segments"] = [];
    const path = join(this.#scratch, "segment.parquet");
    for (let after = from; after < last_seq; ) {
      this.#tell(`usage: ${countOf(segments)} of ${expected} events`);
      const range = { from: after, to: last_seq, limit: SEGMENT_EVENTS };
      const { to, events } = await this.#source.usage.exportSegment(path, range, USAGE_MS);
      if (events > 0) {
        const object = await this.#store(`usage/0/${after}-${to}-${unique()}.parquet`, path);
        segments.push({ ...object, lane: 0, from: after, to, events });
      }
      rmSync(path, { force: true });
      after = to;
    }
    return segments;
  }

  /** Copies the documents that are not there yet. */
  async documents(facts: RowFacts, stored: ReadonlySet<string>) {
    const { recipient, documents, target } = this.#source;
    const kept: Manifest["documents"] = [];
    const damaged: string[] = [];
    let looked_at = 0;
    for (const { company_id, size, ...place } of facts.documents) {
      const { sha256 } = place;
      if (looked_at++ % 100 === 0) this.#tell(`documents: ${looked_at} of ${facts.documents.length}`);
      const plain = `documents/${company_id}/${sha256}${recipient === null ? "" : `-${shortOf(recipient)}`}`;
      const name = recipient === null ? plain : `${plain}.age`;
      if (!stored.has(name)) {
        const copy = join(this.#scratch, "document");
        const path = await documents.fileOf(company_id, blobName(place), copy);
        const object = path === null ? undefined : await this.#store(plain, path);
        if (object?.sha256 !== sha256) {
          if (object) await target.remove(name);
          damaged.push(`${company_id}/${sha256}`);
          continue;
        }
      }
      kept.push({ name, sha256, size, recipient, company_id });
    }
    return { kept, damaged };
  }

  #store(name: string, path: string) {
    const { target, recipient } = this.#source;
    return this.#assistant.do({ kind: "store", url: target.url, name, path, recipient });
  }

  #tell(text: string): void {
    this.#source.onProgress?.(text);
  }
}

const countOf = (segments: Manifest["segments"]) => segments.reduce((sum, { events }) => sum + events, 0);

/** A killed backup may have left an object of the same name. */
const unique = () => crypto.randomUUID().slice(0, 8);

/** So that what is encrypted to one key is not taken for another's. */
const shortOf = (recipient: string) =>
  new Bun.CryptoHasher("sha256").update(recipient).digest("hex").slice(0, 8);
