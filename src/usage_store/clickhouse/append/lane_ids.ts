import { fingerprint } from "../../append/append_request.ts";
import { FingerprintIndex } from "../../index/fingerprints.ts";
import { EntryBlock } from "../../index/entry_block.ts";
import type { SipHash } from "../../index/siphash.ts";
import { HOUR_MS } from "../../time_buckets.ts";
import { nextTurn } from "../../../core/chunk.ts";
import type { ClickHouse } from "../engine/engine.ts";
import { integer } from "../engine/sql.ts";
import type { LaneIndex } from "./lane_writer.ts";

/** How long the ids of a lane may take, and how much longer for each: an owner may read those of 64 lanes at once. */
const LOADING_MS = 600_000;
const LOADING_MS_AN_ID = 0.1;

/** The bytes of a row: company, id, timestamp. */
const ROW_BYTES = 4 + 16 + 8;

/** Ids that are added in one turn. */
const IDS_A_TURN = 4_096;

/** Where the ids of a lane are read. */
export interface LaneIdsSource {
  engine: ClickHouse;
  lane: number;
  hash: SipHash;
  /** Ends what is being read. */
  signal?: AbortSignal | undefined;
}

/** The ids of a lane's events in memory, each with the hour of its event, from 1: there a repeat is looked up. */
export class LaneIds implements LaneIndex {
  readonly #source: LaneIdsSource;
  #index = new FingerprintIndex();
  /** The number of the last commit whose ids were read. */
  #read_to = 0;

  private constructor(source: LaneIdsSource) {
    this.#source = source;
  }

  /** Reads the ids of all events that are stored in a lane. */
  static async read(source: LaneIdsSource): Promise<LaneIds> {
    const ids = new LaneIds(source);
    await ids.readOn();
    return ids;
  }

  /**
   * Reads what was stored since it was read last, whoever owned the lane. Errors: what was read is of no more use. To be
   * called before the first `addEvent`.
   */
  async readOn(): Promise<void> {
    const { engine, lane, signal } = this.#source;
    // Numbers of a lane's commits only grow: whatever is stored later has one past the highest of now.
    const [[counted = 0, highest = 0] = []] = await engine.ask(
      `SELECT count(), max(seq) FROM usage_events WHERE ${pastSql(lane, this.#read_to)}`,
      { timeout_ms: LOADING_MS, signal },
    );
    const [events, read_to] = [Number(counted), Number(highest)];
    if (events === 0) return;
    if (this.#index.size === 0) this.#index = FingerprintIndex.for(events);
    const sql = `SELECT company_id, id, timestamp FROM usage_events
      WHERE ${pastSql(lane, this.#read_to)} AND seq <= ${integer(read_to)} FORMAT RowBinary`;
    const timeout_ms = LOADING_MS + Math.ceil(events * LOADING_MS_AN_ID);
    await this.#add(wholeRows(engine.bytes(sql, { timeout_ms, signal })));
    this.#read_to = read_to;
  }

  async #add(pieces: AsyncIterable<DataView>): Promise<void> {
    const { hash } = this.#source;
    const block = new EntryBlock(IDS_A_TURN);
    const add = this.#index.add.bind(this.#index);
    const words = new Uint32Array(4);
    for await (const rows of pieces) {
      for (let at = 0; at < rows.byteLength; at += ROW_BYTES) {
        for (let i = 0; i < 4; i++) words[i] = rows.getUint32(at + 4 + 4 * i, true);
        fingerprint(hash, rows.getUint32(at, true), words, 0);
        // A BigInt for each event would cost as much as its hash.
        const timestamp = rows.getInt32(at + 24, true) * 2 ** 32 + rows.getUint32(at + 20, true);
        block.add(hash.high, hash.low, entryOf(timestamp));
        if (block.count < IDS_A_TURN) continue;
        block.flush(add);
        await nextTurn();
      }
    }
    block.flush(add);
  }

  find(high: number, low: number): readonly number[] {
    return this.#index.find(high, low);
  }

  addEvent(high: number, low: number, timestamp: number): void {
    this.#index.add(high, low, entryOf(timestamp));
  }

  get size(): number {
    return this.#index.size;
  }

  get bytes(): number {
    return this.#index.bytes;
  }
}

/** SQL of the events past a number: what stands under company 0 are none. */
function pastSql(lane: number, seq: number): string {
  return `lane = ${integer(lane)} AND company_id > 0 AND seq > ${integer(seq)}`;
}

function entryOf(timestamp: number): number {
  return Math.floor(timestamp / HOUR_MS) + 1;
}

/** The hour of an entry, counted since 1970. */
export function hourOf(entry: number): number {
  return entry - 1;
}

/** The same bytes, cut between rows. */
async function* wholeRows(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<DataView> {
  let rest = new Uint8Array();
  for await (const piece of pieces) {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const whole = bytes.length - (bytes.length % ROW_BYTES);
    if (whole > 0) yield new DataView(bytes.buffer, bytes.byteOffset, whole);
    rest = bytes.slice(whole);
  }
  if (rest.length > 0) throw new Error("The ids of a lane ended within a row");
}
