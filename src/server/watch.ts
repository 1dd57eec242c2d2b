import { Guards } from "../app/guards.ts";
import type { Metrics } from "../app/metrics.ts";
import type { Config } from "../core/config.ts";
import { DiskReserve, diskOf, type ReadDisk } from "../core/disk_reserve.ts";
import { GuardedClock, type ReadClocks, TRUSTED } from "../core/guarded_clock.ts";
import type { Log } from "../core/log.ts";
import { type Clock, later, systemClock } from "../core/time.ts";
import type { Store } from "../store/store.ts";
import { FollowedClock } from "./follow_database_clock.ts";
import { readAccepted, takeAcceptance, writeAccepted } from "./clock_files.ts";
import { findNewestRecord } from "./newest_record_queries.ts";

/** How often the clock is looked at, and the database server's: this often while jobs wait for it, else this often. */
const LOOK_MS = 1_000;
const SERVER_MS = { held: 1_000, trusted: 60_000 };

/** What tests give in place of the machine's own. */
interface WatchOptions {
  clock?: Clock;
  machine_clocks?: ReadClocks;
  disk?: ReadDisk;
}

/** Watches the disk and the clock of the machine. Decisions 0197, 0198. */
export class Watch {
  readonly clock: Clock;
  readonly guards: Guards;
  readonly #guarded: GuardedClock | null;
  /** In place of the machine's clock, where there are several instances. */
  readonly #followed: FollowedClock | null;
  readonly #data_dir: string;
  readonly #log: Log;
  #store: Store | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #looking: Promise<void> = Promise.resolve();
  #is_over = false;
  #asked_ms = -SERVER_MS.trusted;

  constructor(config: Config, log: Log, options: WatchOptions) {
    const { disk: readDisk = diskOf(config.data_dir) } = options;
    this.#data_dir = config.data_dir;
    this.#log = log;
    const disk = new DiskReserve(config.disk_reserve_bytes, readDisk, (is_low, free_bytes) => {
      if (is_low) log.error({ free_bytes }, "the disk is almost full: writes wait, reads go on");
      else log.info({ free_bytes }, "the disk has room again: writes go on");
    });
    const { clock, machine_clocks } = options;
    const is_one_of_several = config.instance_url !== null;
    this.#followed = !clock && is_one_of_several ? new FollowedClock(log, machine_clocks) : null;
    this.#guarded =
      !clock && !is_one_of_several
        ? new GuardedClock(machine_clocks, (problem) => this.#tell(problem))
        : null;
    const watched = this.#followed?.clock ?? this.#guarded;
    this.clock = clock ?? watched ?? systemClock;
    this.guards = new Guards(disk, watched ?? TRUSTED);
  }

  /** Compares the clock at the start: with the database server's, or with what is on record. */
  async compare(store: Store): Promise<void> {
    this.#store = store;
    await this.#followed?.take(store);
    const guarded = this.#guarded;
    if (guarded === null || (await this.#askServer(guarded))) return;
    const newest = await findNewestRecord(store.read);
    const accepted = readAccepted(this.#data_dir);
    const is_known = newest !== null && accepted !== null && Temporal.Instant.compare(newest, accepted) <= 0;
    if (newest !== null && !is_known) guarded.compareWithRecords(newest);
  }

  async begin(): Promise<void> {
    await this.guards.disk.watch();
    this.#followed?.begin();
    if (this.#guarded !== null) this.#plan(this.#guarded);
  }

  async end(): Promise<void> {
    this.#is_over = true;
    this.guards.disk.stop();
    clearTimeout(this.#timer);
    await this.#looking;
    await this.#followed?.end();
  }

  expose(metrics: Metrics): void {
    const { disk } = this.guards;
    // By the last look: under load a question to the disk waits for a thread, longer than a scrape would.
    metrics.gauge(
      "meterhouse_disk_free_bytes",
      "Free disk in DATA_DIR, as it was at the last look",
      () => disk.seen.free_bytes,
    );
    metrics.gauge(
      "meterhouse_disk_bytes",
      "Size of the disk of DATA_DIR, as it was at the last look",
      () => disk.seen.size_bytes,
    );
    metrics.gauge(
      "meterhouse_clock_offset_seconds",
      "How far the clock is from the database server's, or from where the process expects it",
      () => ((this.#followed?.clock ?? this.#guarded)?.offset_ms ?? 0) / 1_000,
    );
  }

  #plan(guarded: GuardedClock): void {
    if (this.#is_over) return;
    this.#timer = setTimeout(() => {
      this.#looking = this.#look(guarded).finally(() => this.#plan(guarded));
    }, LOOK_MS);
    this.#timer.unref();
  }

  /** Never fails. */
  async #look(guarded: GuardedClock): Promise<void> {
    try {
      const is_held = guarded.hold !== null;
      if (performance.now() - this.#asked_ms >= SERVER_MS[is_held ? "held" : "trusted"])
        await this.#askServer(guarded);
      if (guarded.hold !== null && this.#store?.dialect === "sqlite") this.#takeAcceptance(guarded);
    } catch (error) {
      // The database is gone: /ready says so, and what waits goes on waiting.
      this.#log.debug({ err: error }, "clock: not compared");
    }
  }

  /** Whether there is a database server, which then decides. */
  async #askServer(guarded: GuardedClock): Promise<boolean> {
    this.#asked_ms = performance.now();
    const server = (await this.#store?.serverTime()) ?? null;
    if (server !== null) guarded.compareWithServer(server);
    return server !== null;
  }

  #takeAcceptance(guarded: GuardedClock): void {
    const wall = takeAcceptance(this.#data_dir);
    if (wall === null) return;
    const is_taken = guarded.accept(wall);
    this.#log.warn(
      { wall: wall.toString(), is_taken },
      is_taken ? "clock: accepted" : "clock: moved since it was accepted",
    );
  }

  #tell(problem: string | null): void {
    if (problem !== null) this.#log.error({ problem }, "clock: jobs that write money wait");
    else this.#log.info("clock: trusted again, jobs that write money go on");
    const guarded = this.#guarded;
    if (guarded === null || guarded.hold !== null || this.#store?.dialect !== "sqlite") return;
    // Records may be of a later time than the clock shows: the next start must not stop at them.
    try {
      writeAccepted(this.#data_dir, later(guarded.caught_up_at, guarded.wall));
    } catch (error) {
      this.#log.warn({ err: error }, "clock: the next start may have to be accepted anew");
    }
  }
}
