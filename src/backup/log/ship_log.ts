import { instant, withTimeout } from "../../core/time.ts";
import type { Log } from "../../core/log.ts";
import type { Reads } from "../../store/store.ts";
import { findLink } from "../../usage/store_link/queries.ts";
import { Assistant } from "../assistant.ts";
import { LIMITS } from "../limits.ts";
import { newestPoint } from "../points.ts";
import { type CutterParts, LogCutter } from "./cut_log.ts";
import { listRecords } from "./record.ts";
import { DraftShipper, type ShipperParts } from "./ship_draft.ts";
import { Spool } from "./spool.ts";

/** How often it looks whether there is something to do. */
const LOOK_MS = 500;
/** How long the end of the process waits for the last of the log to be shipped. */
const LAST_MS = 3_000;

/** What is shipped, and where it goes. */
export interface LogSource
  extends Omit<CutterParts, "assistant" | "spool" | "url" | "usage">,
    Omit<ShipperParts, "assistant" | "spool" | "database" | "onGone"> {
  readonly data_dir: string;
  readonly usage: CutterParts["usage"] & ShipperParts["usage"];
  readonly read: Reads;
  readonly interval_ms: number;
  /** The log is begun anew once it is so long. */
  readonly log_bytes?: number;
  readonly messages: Pick<Log, "info" | "warn">;
  /** Takes a point, for a database that has none. */
  takePoint(): Promise<unknown>;
  /** What changes when a point was taken. */
  lastPoint(): Promise<string>;
}

/** Ships SQLite's log while the service runs, so that any instant can be restored. Decision 0181. */
export class LogShipping {
  readonly #source: LogSource;
  /** Commits may wait for what cuts, so that it never waits for what ships. */
  readonly #cutting = new Assistant(() => false);
  readonly #sending = new Assistant(() => false);
  readonly #spool: Spool;
  readonly #cutter: LogCutter;
  readonly #shipper: DraftShipper;
  #last_point: string | undefined;
  #due_ms = 0;
  #timer: Timer | undefined;
  #is_stopped = false;
  #turn: Promise<void> = Promise.resolve();
  #shipping: Promise<void> | null = null;
  /** So that a target that is gone is told once. */
  #problem = "";

  constructor(source: LogSource) {
    this.#source = source;
    this.#spool = new Spool(source.data_dir);
    const parts = { ...source, spool: this.#spool };
    this.#cutter = new LogCutter({ ...parts, assistant: this.#cutting, url: source.target.url });
    this.#shipper = new DraftShipper({
      ...parts,
      assistant: this.#sending,
      database: source.log.path.replace(/-wal$/, ""),
      onGone: (point) => this.#cutter.point === point && this.#cutter.end(),
    });
  }

  /** Ships from now on, until `stop`. */
  start(): void {
    const look = (): void => {
      this.#turn = this.#lookAgain(look);
    };
    look();
  }

  /** Cuts and ships what was committed by now. Errors: throws what can't be done. */
  async shipNow(): Promise<void> {
    const until = await this.#cut();
    await this.#ship(until);
  }

  /** Ships the last of it, as far as the target answers at once; the rest goes with the next start. */
  async stop(): Promise<void> {
    this.#is_stopped = true;
    clearTimeout(this.#timer);
    await withTimeout(
      this.#shipLast().catch((error: unknown) => this.#tell(error)),
      LAST_MS,
    );
    this.#cutting.close();
    this.#sending.close();
  }

  async #shipLast(): Promise<void> {
    await this.#turn;
    await this.#ship(await this.#cutter.cut());
  }

  async #lookAgain(look: () => void): Promise<void> {
    try {
      await this.#look();
    } catch (error) {
      this.#tell(error);
    }
    const { interval_ms } = this.#source;
    if (!this.#is_stopped) this.#timer = setTimeout(look, Math.min(LOOK_MS, interval_ms));
  }

  async #look(): Promise<void> {
    const is_due = performance.now() >= this.#due_ms;
    const is_long = (await this.#cutter.size()) >= (this.#source.log_bytes ?? LIMITS.log_bytes);
    if (is_long) await this.#cutter.restart();
    if (!is_due) return;
    this.#due_ms = performance.now() + this.#source.interval_ms;
    const until = await this.#cut();
    // Cutting goes on while the target is slow, or gone.
    if (!this.#shipping) void this.#ship(until).catch((error: unknown) => this.#tell(error));
  }

  /** Returns the instant up to which all is cut. */
  async #cut(): Promise<string | null> {
    if (this.#spool.size > LIMITS.spool_bytes) {
      this.#cutter.end();
      this.#spool.clear();
    }
    const until = await this.#cutter.cut();
    const last_point = await this.#source.lastPoint();
    if (until !== null && last_point === (this.#last_point ?? last_point)) {
      this.#last_point = last_point;
      return until;
    }
    // What waits is of an earlier log, and goes first.
    await this.#ship(null);
    await this.#begin();
    this.#last_point = await this.#source.lastPoint();
    return this.#cutter.cut();
  }

  /** Makes a base beside the newest point. */
  async #begin(): Promise<void> {
    const { target, read, messages } = this.#source;
    const link = await findLink(read);
    let newest = await newestPoint(target);
    if (newest?.database_id !== link?.database_id) {
      await this.#source.takePoint();
      newest = await newestPoint(target);
    }
    if (!newest) throw new Error(`There is no point at ${target.url}`);
    const n = (await listRecords(target, newest.instant)).at(-1)?.n ?? 0;
    await this.#cutter.begin(newest.instant, n + 1);
    messages.info({ point: newest.instant }, "the log of the database is shipped from here on");
  }

  /** Ships what was cut. `until`: all up to this instant was. */
  async #ship(until: string | null): Promise<void> {
    // What is under way began without what was cut since.
    while (this.#shipping) await this.#shipping.catch(() => undefined);
    this.#shipping = this.#shipAll().finally(() => (this.#shipping = null));
    await this.#shipping;
    if (until !== null && this.#spool.pending().length === 0) this.#advance(until);
    if (until !== null) this.#problem = "";
  }

  async #shipAll(): Promise<void> {
    const last = await this.#shipper.ship();
    if (last !== undefined) this.#advance(last);
  }

  #advance(until: string): void {
    const { log } = this.#source;
    log.shipped_until_ms = Math.max(log.shipped_until_ms ?? 0, instant(until).epochMilliseconds);
  }

  #tell(error: unknown): void {
    const problem = error instanceof Error ? error.message : String(error);
    if (problem !== this.#problem) this.#source.messages.warn({ err: error }, "the log is not shipped");
    this.#problem = problem;
  }
}
