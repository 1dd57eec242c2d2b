import type {
  LaneHolder,
  LaneRows,
  LaneState,
  SeenLane,
  TakenLane,
} from "../../../src/usage_store/clickhouse/lanes/lane_rows.ts";
import { OWNED_MS } from "../../../src/usage_store/clickhouse/lanes/limits.ts";

interface Row {
  epoch: number;
  closed_epoch: number;
  owner: LaneHolder | null;
  expires_ms: number;
  wanted_by: string | null;
  least_epoch: number;
}

/** Who owns the lanes of a store of this process. */
export class MemoryRows implements LaneRows {
  readonly #rows: Row[];

  constructor(lanes: number) {
    this.#rows = Array.from({ length: lanes }, () => ({
      epoch: 0,
      closed_epoch: 0,
      owner: null,
      expires_ms: 0,
      wanted_by: null,
      least_epoch: 0,
    }));
  }

  async list({ id }: LaneHolder): Promise<LaneState[]> {
    return this.#rows.map((row, lane) => ({
      lane,
      epoch: row.epoch,
      closed_epoch: row.closed_epoch,
      owner: isOwned(row) ? row.owner : null,
      is_free:
        (row.owner === null || row.owner.id === id) && (row.wanted_by === null || row.wanted_by === id),
      stamp: String(row.expires_ms),
      wanted_by: row.wanted_by,
      least_epoch: row.least_epoch,
    }));
  }

  async take({ lane, epoch, stamp }: SeenLane, holder: LaneHolder): Promise<TakenLane | null> {
    const row = this.#row(lane);
    if (row.epoch !== epoch || String(row.expires_ms) !== stamp) return null;
    row.epoch++;
    Object.assign(row, { owner: holder, wanted_by: null, expires_ms: performance.now() + OWNED_MS });
    return { epoch: row.epoch, closed_epoch: row.closed_epoch };
  }

  async renew(lane: number, epoch: number): Promise<boolean> {
    return this.#change(lane, epoch, { expires_ms: performance.now() + OWNED_MS });
  }

  async recordClosed(lane: number, epoch: number): Promise<boolean> {
    return this.#change(lane, epoch, { closed_epoch: epoch - 1 });
  }

  async advance(lane: number, epoch: number, to: number): Promise<boolean> {
    return this.#change(lane, epoch, { epoch: to, closed_epoch: to - 1 });
  }

  async release(lane: number, epoch: number): Promise<boolean> {
    return this.#change(lane, epoch, { owner: null, closed_epoch: epoch });
  }

  async want(lane: number, { id }: LaneHolder): Promise<void> {
    this.#row(lane).wanted_by ??= id;
  }

  async raise(least_epoch: number): Promise<void> {
    for (const row of this.#rows) row.least_epoch = Math.max(row.least_epoch, least_epoch);
  }

  #change(lane: number, epoch: number, change: Partial<Row>): boolean {
    const row = this.#row(lane);
    if (row.epoch !== epoch || row.owner === null) return false;
    Object.assign(row, change);
    return true;
  }

  #row(lane: number): Row {
    const row = this.#rows[lane];
    if (row === undefined) throw new RangeError(`There is no lane ${lane}`);
    return row;
  }
}

function isOwned({ owner, expires_ms }: Row): boolean {
  return owner !== null && expires_ms > performance.now();
}
