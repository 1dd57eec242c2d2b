import type { StoredRow } from "../../../src/usage_store/append/deduplicate.ts";
import { type CommitNumber, seqOf } from "../../../src/usage_store/clickhouse/lanes/commit_numbers.ts";
import type { LaneLog } from "../../../src/usage_store/clickhouse/lanes/lane_log.ts";
import type {
  LaneHolder,
  LaneRows,
  LaneState,
  SeenLane,
  TakenLane,
} from "../../../src/usage_store/clickhouse/lanes/lane_rows.ts";
import { OWNED_MS, WANTED_MS } from "../../../src/usage_store/clickhouse/lanes/limits.ts";
import type { Random } from "./random.ts";
import { callService, quickly, type SimProcess, slowly, type World } from "./world.ts";

/** The rows of a commit. */
export type SimBlock = readonly StoredRow[];

/** A row with the number of its commit. */
export interface SimStored extends StoredRow {
  seq: number;
}

/** The engine of one lane: stores the first commit of each token, and drops others in silence. */
export class SimEngine {
  readonly rows: SimStored[] = [];
  /** Commits that arrived late: others with higher numbers were there. */
  readonly overtaken: string[] = [];
  dropped = 0;
  readonly #tails = new Map<number, { n: number; void_n: number }>();
  readonly #tokens = new Set<string>();
  /** The highest number of a commit, voids among them. */
  last_seq = 0;

  store(number: CommitNumber, block: SimBlock | null): void {
    const token = `${number.epoch}:${number.n}`;
    if (this.#tokens.has(token)) {
      this.dropped++;
      return;
    }
    this.#tokens.add(token);
    const tail = this.#tails.get(number.epoch) ?? { n: 0, void_n: 0 };
    this.#tails.set(number.epoch, tail);
    tail.n = Math.max(tail.n, number.n);
    const seq = seqOf(number);
    if (block === null) tail.void_n = Math.max(tail.void_n, number.n);
    else {
      this.rows.push(...block.map((row) => ({ ...row, seq })));
      if (seq <= this.last_seq) this.overtaken.push(token);
    }
    this.last_seq = Math.max(this.last_seq, seq);
  }

  get last_epoch(): number {
    return Math.max(0, ...this.#tails.keys());
  }

  tailOf(epoch: number): { n: number; is_void: boolean } {
    const { n, void_n } = this.#tails.get(epoch) ?? { n: 0, void_n: 0 };
    return { n, is_void: n > 0 && n === void_n };
  }
}

/** The engine as a process reaches it. */
export class SimLog implements LaneLog<SimBlock> {
  readonly #engine: SimEngine;
  readonly #world: World;
  readonly #process: SimProcess;
  readonly #random: Random;

  constructor(engine: SimEngine, world: World, process: SimProcess, random: Random) {
    this.#engine = engine;
    this.#world = world;
    this.#process = process;
    this.#random = random;
  }

  insert(_: number, number: CommitNumber, block: SimBlock): Promise<void> {
    return this.#call(slowly(this.#random), () => this.#engine.store(number, block));
  }

  insertVoid(_: number, number: CommitNumber): Promise<void> {
    return this.#call(slowly(this.#random), () => this.#engine.store(number, null));
  }

  lastEpoch() {
    return this.ask(() => this.#engine.last_epoch);
  }

  tailOf(_: number, epoch: number) {
    return this.ask(() => this.#engine.tailOf(epoch));
  }

  ask<T>(read: () => T): Promise<T> {
    return this.#call(quickly(this.#random), read);
  }

  pause(ms: number): Promise<void> {
    return this.#process.clock.sleep(ms);
  }

  #call<T>(delays: ReturnType<typeof quickly>, carryOut: () => T): Promise<T> {
    return callService({ world: this.#world, process: this.#process, delays }, carryOut);
  }
}

/** The row of a lane, with a clock that is not the processes', and that is set now and then. */
export class SimRow {
  epoch = 0;
  closed_epoch = 0;
  owner: LaneHolder | null = null;
  expires_ms = 0;
  /** How far its clock is ahead. */
  ahead_ms = 0;
  wanted_by: string | null = null;
  least_epoch = 0;
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  get now_ms(): number {
    return this.#world.now_ms + this.ahead_ms;
  }

  /** What a backup of the row holds. */
  copy(): Pick<SimRow, "epoch" | "closed_epoch"> {
    return { epoch: this.epoch, closed_epoch: this.closed_epoch };
  }

  /** Puts it back to what it was: nobody owns the lane. */
  restore({ epoch, closed_epoch }: Pick<SimRow, "epoch" | "closed_epoch">): void {
    this.epoch = epoch;
    this.closed_epoch = closed_epoch;
    this.owner = null;
    this.expires_ms = this.now_ms;
    this.wanted_by = null;
  }

  get is_owned(): boolean {
    return this.owner !== null && this.expires_ms > this.now_ms;
  }

  isFreeFor({ id }: LaneHolder): boolean {
    if (this.owner !== null && this.owner.id !== id) return false;
    const is_kept = this.wanted_by !== null && this.now_ms < this.expires_ms + WANTED_MS;
    return !is_kept || this.wanted_by === id;
  }

  change(epoch: number, change: () => void): boolean {
    if (this.epoch !== epoch || this.owner === null) return false;
    change();
    return true;
  }
}

/** The row as a process reaches it. */
export class SimRows implements LaneRows {
  readonly #row: SimRow;
  readonly #world: World;
  readonly #process: SimProcess;
  readonly #random: Random;

  constructor(row: SimRow, world: World, process: SimProcess, random: Random) {
    this.#row = row;
    this.#world = world;
    this.#process = process;
    this.#random = random;
  }

  list(holder: LaneHolder): Promise<LaneState[]> {
    const row = this.#row;
    return this.#call(() => [
      {
        lane: 0,
        epoch: row.epoch,
        closed_epoch: row.closed_epoch,
        owner: row.is_owned ? row.owner : null,
        is_free: row.isFreeFor(holder),
        stamp: String(row.expires_ms),
        wanted_by: row.wanted_by,
        least_epoch: row.least_epoch,
      },
    ]);
  }

  take({ epoch, stamp }: SeenLane, holder: LaneHolder): Promise<TakenLane | null> {
    const row = this.#row;
    return this.#call(() => {
      if (row.epoch !== epoch || String(row.expires_ms) !== stamp) return null;
      // Owners that come and go before they have closed anything are where the protocol has most to bear.
      if (this.#random.oneIn(3)) this.#process.stall(this.#random.below(20_000));
      row.epoch++;
      row.owner = holder;
      row.expires_ms = row.now_ms + OWNED_MS;
      row.wanted_by = null;
      return { epoch: row.epoch, closed_epoch: row.closed_epoch };
    });
  }

  renew(_: number, epoch: number): Promise<boolean> {
    const row = this.#row;
    return this.#call(() => row.change(epoch, () => (row.expires_ms = row.now_ms + OWNED_MS)));
  }

  recordClosed(_: number, epoch: number): Promise<boolean> {
    const row = this.#row;
    return this.#call(() => row.change(epoch, () => (row.closed_epoch = epoch - 1)));
  }

  advance(_: number, epoch: number, to: number): Promise<boolean> {
    const row = this.#row;
    return this.#call(() =>
      row.change(epoch, () => {
        row.epoch = to;
        row.closed_epoch = to - 1;
      }),
    );
  }

  release(_: number, epoch: number): Promise<boolean> {
    const row = this.#row;
    return this.#call(() =>
      row.change(epoch, () => {
        row.closed_epoch = epoch;
        row.owner = null;
        row.expires_ms = row.now_ms;
      }),
    );
  }

  want(_: number, { id }: LaneHolder): Promise<void> {
    return this.#call(() => void (this.#row.wanted_by ??= id));
  }

  raise(least_epoch: number): Promise<void> {
    const row = this.#row;
    return this.#call(() => void (row.least_epoch = Math.max(row.least_epoch, least_epoch)));
  }

  #call<T>(carryOut: () => T): Promise<T> {
    const delays = quickly(this.#random);
    return callService({ world: this.#world, process: this.#process, delays }, carryOut);
  }
}
