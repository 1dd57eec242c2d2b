import { rmSync } from "node:fs";
import { blobName, type BlobStore } from "../../store/blob_store.ts";
import type { UsageStore } from "../../usage_store/port.ts";
import type { Assistant } from "../assistant.ts";
import { LIMITS } from "../limits.ts";
import type { BackupObject } from "../manifest.ts";
import { listPoints, readPoint } from "../points.ts";
import { piecesOf, type Target } from "../target.ts";
import { listRecords, logFolder, type LogRecord, readRecord, recordName } from "./record.ts";
import type { Draft, Spool } from "./spool.ts";

/** What drafts are shipped with. */
export interface ShipperParts {
  readonly target: Target;
  readonly usage: Pick<UsageStore, "lastSeq" | "exportSegment">;
  readonly documents: Pick<BlobStore, "fileOf">;
  readonly database: string;
  readonly assistant: Assistant;
  readonly spool: Spool;
  readonly recipient: string | null;
  /** Called with a point that drafts are of and that is no longer at the target. */
  readonly onGone: (point: string) => void;
}

/** How far a point's log is at the target. */
interface Shipped extends Pick<LogRecord, "n" | "stored_seq" | "document_id"> {
  readonly point: string;
}

/**
 * Ships drafts: what their rows refer to first, usage events and documents, then the log, the record last. Whatever
 * breaks off is done again from what is at the target.
 */
export class DraftShipper {
  readonly #parts: ShipperParts;
  #shipped: Shipped | null = null;

  constructor(parts: ShipperParts) {
    this.#parts = parts;
  }

  /**
   * Ships all drafts, oldest first. Returns the instant of the last; undefined where there was none. Errors: those of the
   * target. Drafts of a point that is no longer there are dropped.
   */
  async ship(): Promise<string | undefined> {
    const { spool, onGone } = this.#parts;
    let instant: string | undefined;
    for (const draft of spool.pending()) {
      const shipped = this.#shipped?.point === draft.point ? this.#shipped : await this.#lastOf(draft.point);
      this.#shipped = null;
      if (shipped === null) onGone(draft.point);
      const now_shipped = shipped && draft.n > shipped.n ? await this.#store(draft, shipped) : shipped;
      spool.remove(draft);
      this.#shipped = now_shipped;
      if (shipped !== null) instant = draft.instant;
    }
    return instant;
  }

  /** What is at the target of a point's log; null where there is no such point. */
  async #lastOf(point: string): Promise<Shipped | null> {
    const { target } = this.#parts;
    if (!(await listPoints(target)).includes(point)) return null;
    const last = (await listRecords(target, point)).at(-1);
    if (last) return { ...(await readRecord(target, last.name)), point };
    return { point, n: 0, stored_seq: (await readPoint(target, point)).last_seq, document_id: 0 };
  }

  async #store(draft: Draft, shipped: Shipped): Promise<Shipped> {
    const { target, spool } = this.#parts;
    const { point, n, kind, instant, usage_seq, bytes } = draft;
    const folder = logFolder(point);
    const segments = await this.#segments(folder, shipped.stored_seq);
    const { documents, document_id } = await this.#documents(folder, shipped);
    const wal = bytes.to > bytes.from ? await this.#write(`${folder}wal/${n}`, spool.walOf(draft)) : null;
    const base = kind === "base" ? await this.#write(`${folder}bases/${n}`, spool.baseOf(draft)) : null;
    const stored_seq = segments.at(-1)?.to ?? shipped.stored_seq;
    const record: LogRecord = {
      format: 1,
      n,
      kind,
      instant,
      usage_seq,
      stored_seq,
      document_id,
      bytes,
      log: wal,
      base,
      segments,
      documents,
    };
    await target.write(recordName(point, draft), piecesOf(JSON.stringify(record)));
    return { point, n, stored_seq, document_id };
  }

  /** The events since the last record. */
  async #segments(folder: string, after: number): Promise<LogRecord["segments"]> {
    const { usage, spool } = this.#parts;
    // Now, not when the draft was cut: all that its rows count is stored.
    const to = await usage.lastSeq(0, LIMITS.log_usage_ms);
    if (to <= after) return [];
    const path = spool.scratch;
    rmSync(path, { force: true });
    const { events } = await usage.exportSegment(path, { from: after, to }, LIMITS.log_usage_ms);
    const object = await this.#write(`${folder}usage/${after}-${to}`, path);
    rmSync(path, { force: true });
    return [{ ...object, lane: 0, from: after, to, events }];
  }

  /** The documents since the last record, and at first those that the point lacks. */
  async #documents(folder: string, { point, n, document_id }: Shipped) {
    const { assistant, database, documents: files, target, spool } = this.#parts;
    const added = await assistant.do({ kind: "documents", path: database, after: document_id });
    const there = n === 0 ? (await readPoint(target, point)).documents : [];
    const known = new Set(there.map(({ company_id, sha256 }) => `${company_id}/${sha256}`));
    const documents: LogRecord["documents"] = [];
    for (const { company_id, ...place } of added.documents) {
      const { sha256 } = place;
      if (known.has(`${company_id}/${sha256}`)) continue;
      const path = await files.fileOf(company_id, blobName(place), spool.scratch);
      if (path === null) continue;
      const object = await this.#write(`${folder}documents/${company_id}/${sha256}`, path);
      // Damaged on disk: a restore says that it is missing.
      if (object.sha256 === sha256) documents.push({ ...object, company_id });
    }
    rmSync(spool.scratch, { force: true });
    return { documents, document_id: Math.max(document_id, added.last_id) };
  }

  /** A shipment that was killed may have left an object of the same name. */
  #write(name: string, path: string): Promise<BackupObject> {
    const { assistant, target, recipient } = this.#parts;
    const unique = `${name}-${crypto.randomUUID().slice(0, 8)}`;
    return assistant.do({ kind: "store", url: target.url, name: unique, path, recipient });
  }
}
