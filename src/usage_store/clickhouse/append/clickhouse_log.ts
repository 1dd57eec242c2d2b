import { type CommitNumber, COMMITS, numberOf, seqOf } from "../lanes/commit_numbers.ts";
import type { EpochTail, LaneLog } from "../lanes/lane_log.ts";
import type { ClickHouse } from "../engine/engine.ts";
import { asNumber, integer } from "../engine/sql.ts";
import { encodeNothing, VOID } from "./event_rows.ts";

/** How long a question about what is stored of a lane may take. */
const ASKING_MS = 30_000;

/** The table `usage_events` as the protocol of lanes needs it. A block is its rows in RowBinary. */
export class ClickHouseLog implements LaneLog<Uint8Array> {
  readonly #engine: ClickHouse;

  constructor(engine: ClickHouse) {
    this.#engine = engine;
  }

  insert(lane: number, number: CommitNumber, block: Uint8Array): Promise<void> {
    return this.#engine.insert("usage_events", block, `${lane}:${number.epoch}:${number.n}`);
  }

  insertVoid(lane: number, number: CommitNumber): Promise<void> {
    return this.insert(lane, number, encodeNothing(VOID, lane, seqOf(number)));
  }

  async lastEpoch(lane: number): Promise<number> {
    const [[seq = 0] = []] = await this.#engine.ask(
      `SELECT max(seq) FROM usage_events WHERE lane = ${integer(lane)}`,
      { timeout_ms: ASKING_MS },
    );
    return numberOf(asNumber(seq)).epoch;
  }

  async tailOf(lane: number, epoch: number): Promise<EpochTail> {
    const first = seqOf({ epoch, n: 0 });
    const [[seq = first, company_id = null, kind = null] = []] = await this.#engine.ask(
      `SELECT seq, company_id, subscription_id FROM usage_events
      WHERE lane = ${integer(lane)} AND seq >= ${integer(first)} AND seq < ${integer(first + COMMITS)}
      ORDER BY seq DESC LIMIT 1`,
      { timeout_ms: ASKING_MS },
    );
    return { n: asNumber(seq) - first, is_void: company_id === 0 && kind === VOID };
  }
}
