import { stat } from "node:fs/promises";
import { errorCode } from "../../core/error_code.ts";
import { type Clock, iso } from "../../core/time.ts";
import { follows, type LogPosition } from "../../store/log_walk.ts";
import type { ShippedLog } from "../../store/store.ts";
import type { UsageStore } from "../../usage_store/port.ts";
import type { Assistant } from "../assistant.ts";
import { LIMITS } from "../limits.ts";
import type { Cut, Draft, Spool } from "./spool.ts";

/** What the log is cut with. */
export interface CutterParts {
  readonly log: ShippedLog;
  readonly usage: Pick<UsageStore, "lastSeq">;
  readonly clock: Clock;
  readonly assistant: Assistant;
  readonly spool: Spool;
  /** Where drafts go. */
  readonly url: string;
}

/** The end of the log at an instant. */
interface Mark {
  readonly position: LogPosition;
  readonly instant: string;
  readonly usage_seq: number;
}

/**
 * Cuts SQLite's log into drafts, each up to the end of a commit, and begins it anew once all of it is cut. On anything
 * that it did not expect (the checkpoint of another process, frames that are gone) it ends, and a new base must be made.
 * One call at a time. Decision 0181.
 */
export class LogCutter {
  readonly #parts: CutterParts;
  #cut: Cut | null;

  constructor(parts: CutterParts) {
    this.#parts = parts;
    const cut = parts.spool.readCut();
    if (cut !== null && cut.url !== parts.url) parts.spool.clear();
    this.#cut = cut?.url === parts.url ? cut : null;
  }

  /** The point that the log is cut for; null where a base must be made. */
  get point(): string | null {
    return this.#cut?.point ?? null;
  }

  /** Ends what was begun: a new base must be made. */
  end(): void {
    this.#cut = null;
  }

  /** The bytes of the log. */
  async size(): Promise<number> {
    const found = await stat(this.#parts.log.path).catch((error: unknown) => {
      if (errorCode(error) === "ENOENT") return { size: 0 };
      throw error;
    });
    return found.size;
  }

  /**
   * Copies the database as it is now, for the log to be replayed on; what was cut before goes on up to the same commit.
   * Errors: throws where the log was begun anew meanwhile.
   */
  async begin(point: string, n: number): Promise<void> {
    const { log, assistant, spool, url } = this.#parts;
    await log.pause(async () => log.touch());
    const begun = await this.#walk(null);
    const database = log.path.replace(/-wal$/, "");
    await assistant.do({ kind: "base", from: database, to: spool.baseOf({ point, n }) });
    const mark = begun && (await this.#mark(begun));
    if (!mark) throw new Error("The log of the database was begun anew by another process");
    const drafts = [await this.#draft("base", { point, n, from: 0 }, mark)];
    const last = this.#cut;
    if (last !== null && last.point !== point && (await this.#walk(last.position)) !== null)
      drafts.unshift(await this.#draft("log", { point: last.point, n: last.n + 1, from: last.to }, mark));
    await this.#add(drafts, { url, point, n, ...reached(mark) });
  }

  /** Cuts off what is new. Returns the instant up to which all is cut, or null where a new base must be made. */
  async cut(): Promise<string | null> {
    const cut = this.#cut;
    const mark = cut && (await this.#mark(cut.position));
    if (!mark) this.#cut = null;
    if (!cut || !mark) return null;
    const is_new = mark.position.end > cut.to || mark.usage_seq > cut.usage_seq;
    if (is_new) await this.#cutTo(cut, mark);
    return mark.instant;
  }

  /** Begins the log anew. Commits wait while what came last is cut, so that there is little of it. */
  async restart(): Promise<void> {
    const { log, usage, clock } = this.#parts;
    if ((await this.cut()) === null) return this.discard();
    const usage_seq = await usage.lastSeq(0, LIMITS.log_usage_ms);
    await log.pause(async () => {
      const version = log.version();
      const position = this.#cut && (await this.#walk(this.#cut.position));
      if (!position || !this.#cut) return this.end();
      if (position.end > this.#cut.to)
        await this.#cutTo(this.#cut, { position, usage_seq, instant: iso(clock.now()) });
      const is_free = log.truncate();
      log.touch();
      const begun = await this.#walk(null);
      if (begun?.salts === position.salts) return;
      // Another's commit since it was cut is in no draft.
      const is_ours = is_free && log.version() === version && begun !== null && follows(begun, position);
      this.#cut = is_ours ? { ...this.#cut, to: 0, position: begun } : null;
    });
    // A process that is killed before finds another log than it knows.
    if (this.#cut) await this.#parts.spool.add([], this.#cut);
  }

  /** Begins the log anew while it is cut for no point. */
  async discard(): Promise<void> {
    const { log } = this.#parts;
    await log.pause(async () => void log.truncate());
  }

  /** The end of the log now; null where it is no longer the one of `from`. */
  async #mark(from: LogPosition): Promise<Mark | null> {
    const { log, usage, clock } = this.#parts;
    const usage_seq = await usage.lastSeq(0, LIMITS.log_usage_ms);
    // Most of it, so that commits wait for the rest alone.
    const near = await this.#walk(from);
    if (near === null) return null;
    return log.pause(async () => {
      const position = await this.#walk(near);
      return position && { position, usage_seq, instant: iso(clock.now()) };
    });
  }

  async #cutTo(cut: Cut, mark: Mark): Promise<void> {
    const n = cut.n + 1;
    const draft = await this.#draft("log", { point: cut.point, n, from: cut.to }, mark);
    await this.#add([draft], { ...cut, n, ...reached(mark) });
  }

  async #draft(
    kind: Draft["kind"],
    { point, n, from }: { point: string; n: number; from: number },
    { position, instant, usage_seq }: Mark,
  ): Promise<Draft> {
    const { assistant, log, spool } = this.#parts;
    const { sequence, salts, end: to } = position;
    const path = spool.walOf({ point, n });
    if (to > from) await assistant.do({ kind: "bytes", path: log.path, to: path, start: from, end: to });
    return { n, kind, instant, usage_seq, point, bytes: { sequence, salts, from, to } };
  }

  async #add(drafts: Draft[], cut: Cut): Promise<void> {
    await this.#parts.spool.add(drafts, cut);
    this.#cut = cut;
  }

  #walk(from: LogPosition | null): Promise<LogPosition | null> {
    return this.#parts.assistant.do({ kind: "walk", path: this.#parts.log.path, from });
  }
}

const reached = ({ position, usage_seq }: Mark): Pick<Cut, "position" | "usage_seq" | "to"> => ({
  position,
  usage_seq,
  to: position.end,
});
