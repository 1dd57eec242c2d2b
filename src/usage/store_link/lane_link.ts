import { findLastCounted } from "../../billing/records/queries.ts";
import type { Log } from "../../core/log.ts";
import type { Clock } from "../../core/time.ts";
import type { Store } from "../../store/store.ts";
import type { LaneFacts } from "../../usage_store/clickhouse/engine/identity.ts";
import { numberOf } from "../../usage_store/clickhouse/lanes/commit_numbers.ts";
import type { LaneRows } from "../../usage_store/clickhouse/lanes/lane_rows.ts";
import { DatabaseLaneRows } from "../lanes/queries.ts";
import { refusal, refusalOf } from "./link_rules.ts";
import * as queries from "./queries.ts";
import { refuseWhileLocked, UsageLock } from "./usage_lock.ts";

/** How often the store's progress is recorded. */
const SAVE_MS = 30_000;

/** How a store on ClickHouse is linked with a database. */
export interface LaneLinkOptions {
  store: Store;
  clock: Clock;
  log: Log;
  /** The server and its database, for messages. */
  place: string;
  /** Whether a store is accepted that would be refused. */
  accepts: boolean;
  /** Whether others store usage too. */
  is_shared: boolean;
  /** Closes the store: another process has it. */
  giveUp: () => Promise<void>;
}

/**
 * A database and its usage store on ClickHouse: with the events that its keys and bills refer to, and not older than they
 * are. Decisions 0116 and 0373.
 */
export class LaneLink {
  /** The problem for which the store would have been refused, had it not been accepted. */
  readonly accepted: string | null;
  readonly rows: LaneRows;
  readonly #options: LaneLinkOptions;
  readonly #facts: LaneFacts;
  readonly #lock: UsageLock | null;
  readonly #timer: ReturnType<typeof setInterval>;
  #saving: Promise<void> = Promise.resolve();

  private constructor(
    options: LaneLinkOptions,
    facts: LaneFacts,
    admitted: { accepted: string | null; rows: LaneRows; lock: UsageLock | null },
  ) {
    this.#options = options;
    this.#facts = facts;
    this.accepted = admitted.accepted;
    this.rows = admitted.rows;
    this.#lock = admitted.lock;
    this.#timer = setInterval(() => {
      this.#saving = this.#save();
    }, SAVE_MS);
    this.#timer.unref();
  }

  /** Errors: UsageInUseError while another process has the database's usage to itself; throws the store's problem and the remedy. */
  static async open(options: LaneLinkOptions, facts: LaneFacts): Promise<LaneLink> {
    const { store, is_shared } = options;
    const lock = is_shared ? await refuseWhileLocked(store).then(() => null) : await lockOf(options);
    try {
      return new LaneLink(options, facts, { ...(await admit(options, facts)), lock });
    } catch (error) {
      await lock?.release();
      throw error;
    }
  }

  /** Call it while the store can still be asked. */
  async saveProgress(): Promise<void> {
    clearInterval(this.#timer);
    await this.#saving;
    await this.#save();
  }

  async release(): Promise<void> {
    clearInterval(this.#timer);
    await this.#lock?.release();
  }

  /** Records how far the store is: durable commits only, so that the database is never ahead of it. Never fails. */
  async #save(): Promise<void> {
    const { store, clock, log } = this.#options;
    try {
      const last_seq = await this.#facts.readLastSeq();
      await store.tx((q) => queries.raiseProgress(q, clock.now(), this.#facts.store_id, last_seq));
    } catch (error) {
      log.debug({ err: error }, "usage store: progress not recorded");
    }
  }
}

async function lockOf({ store, log, giveUp }: LaneLinkOptions): Promise<UsageLock> {
  const lock: UsageLock = await UsageLock.take({
    store,
    onLost: () => log.warn("usage store: the database released its lock, taking it again"),
    isStillOurs: async () => true,
    async giveUp() {
      log.fatal(
        "usage store closed: another process uses this database; stop this one, or give each its INSTANCE_URL",
      );
      await giveUp();
      await lock.release();
    },
  });
  return lock;
}

async function admit(
  { store, clock, place, accepts }: LaneLinkOptions,
  facts: LaneFacts,
): Promise<{ accepted: string | null; rows: LaneRows }> {
  await store.tx((q) => queries.insertLink(q, clock.now(), crypto.randomUUID()));
  const link = await queries.findLink(store.read);
  if (!link) throw new Error("Cannot link a usage store: its row is missing");
  const database = {
    ...link,
    // Lanes have epochs in the place of openings.
    opening_id: null,
    ...(await queries.findLastKeys(store.read)),
    counted_seq: await findLastCounted(store.read, null),
  };
  const usage = { ...facts, ...(await facts.keysAbove(database)), setting: "USAGE_URL" as const };
  const refused = refusalOf(database, usage);
  if (refused !== null && !accepts) throw refusal(place, refused);
  const owner = await facts.claim(link.database_id, { anew: refused !== null });
  if (owner !== link.database_id)
    throw refusal(place, refusalOf(database, { ...usage, database_id: owner }) ?? "another database took it");
  const last_seq = Math.max(usage.last_seq, link.last_seq, database.counted_seq);
  if (refused !== null) await store.tx((q) => queries.raiseKeys(q, usage));
  await store.tx((q) =>
    queries.updateLink(q, clock.now(), {
      store_id: facts.store_id,
      opening_number: link.opening_number,
      opening_id: null,
      last_seq,
      place,
    }),
  );
  const is_behind = last_seq > usage.last_seq;
  const least_epoch = is_behind ? numberOf(last_seq).epoch + 1 : 0;
  return { accepted: refused, rows: await DatabaseLaneRows.open(store, facts.lanes, least_epoch) };
}
