import type { Log } from "../../core/log.ts";
import type { Clock } from "../../core/time.ts";
import type { Store } from "../../store/store.ts";
import { findLastCounted } from "../../billing/records/queries.ts";
import { missingUsageProblem, refusal, refusalOf } from "./link_rules.ts";
import * as queries from "./queries.ts";
import { UsageLock } from "./usage_lock.ts";
import type { CompactableStore } from "../../usage_store/duckdb/duckdb_store.ts";
import type { Admission, Opening, StoreFacts } from "../../usage_store/identity.ts";

/** The options of opening a usage store for a database. */
export interface LinkOptions {
  store: Store;
  clock: Clock;
  log: Log;
  /** The machine and the folder, for messages. */
  place: string;
  /** Whether the file exists. */
  is_there: boolean;
  /** Whether a store is accepted that would be refused. */
  accepts: boolean;
  open(admit: (facts: StoreFacts) => Promise<Admission>): Promise<CompactableStore>;
}

/** How often the store's progress is recorded, and the time limit of reading it. */
const SAVE_MS = 5_000;
const PROGRESS_MS = 5_000;

/**
 * The usage store that belongs to a database: with the events that its keys and bills refer to, not older than they
 * are, and used by no other process. Decision 0116.
 */
export class LinkedUsage {
  readonly usage: CompactableStore;
  /** The problem for which the store would have been refused, had it not been accepted. */
  readonly accepted: string | null;
  readonly #options: LinkOptions;
  readonly #opening: Opening;
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #lock: UsageLock;
  #saved_seq: number;
  /** The last progress read, and the number of lost engines by then. */
  #seen: { seq: number; losses: number };
  #saving: Promise<void> | undefined;

  private constructor(usage: CompactableStore, options: LinkOptions, admitted: AdmittedStore) {
    const { opening, lock, last_seq } = admitted;
    this.usage = usage;
    this.accepted = admitted.accepted;
    this.#options = options;
    this.#opening = opening;
    this.#lock = lock;
    this.#saved_seq = last_seq;
    this.#seen = { seq: last_seq, losses: 0 };
    this.#timer = setInterval(() => void this.#saveProgress(), SAVE_MS);
    this.#timer.unref();
  }

  /** Errors: unavailable while another process uses it; throws an Error with its problem and the remedy. */
  static async open(options: LinkOptions): Promise<LinkedUsage> {
    const { store, clock, accepts, is_there, place } = options;
    const before = await queries.findLink(store.read);
    if (before?.store_id != null && !is_there && !accepts)
      throw refusal(place, missingUsageProblem(before.place));
    let linked: LinkedUsage | undefined;
    let admitted: AdmittedStore | undefined;
    try {
      const usage = await options.open(async (facts) => {
        admitted = await admitStore(options, facts, () => linked);
        return admitted.admission;
      });
      if (!admitted) throw new Error("Cannot use a usage store that was not admitted");
      const { opening, last_seq, store_id } = admitted;
      linked = new LinkedUsage(usage, options, admitted);
      await store.tx((q) =>
        queries.updateLink(q, clock.now(), {
          store_id,
          opening_number: opening.number,
          opening_id: opening.id,
          last_seq,
          place,
        }),
      );
      await usage.confirm(opening);
      return linked;
    } catch (error) {
      if (linked) await linked.close();
      else await admitted?.lock.release();
      throw error;
    }
  }

  /** Records the store's progress in the database: durable events only, so that it is never ahead of the store. */
  #saveProgress(is_last = false): Promise<void> {
    this.#saving ??= this.#recordProgress(is_last)
      .catch((error) => this.#options.log.debug({ err: error }, "usage store: progress not recorded"))
      .finally(() => {
        this.#saving = undefined;
      });
    return this.#saving;
  }

  /**
   * Records what was read the last time: a failing commit may show events that are not stored in the end, and then the
   * engine is lost. `is_last`: nothing more is stored.
   */
  async #recordProgress(is_last: boolean): Promise<void> {
    const { store, clock } = this.#options;
    const before = this.#seen;
    this.#seen = { seq: await this.usage.progress(PROGRESS_MS), losses: this.usage.stats().engine_losses };
    const seq = is_last ? this.#seen.seq : before.seq;
    if (seq <= this.#saved_seq || (!is_last && before.losses !== this.#seen.losses)) return;
    const is_ours = await store.tx((q) => queries.updateProgress(q, clock.now(), this.#opening.id, seq));
    if (!is_ours) return this.giveUp();
    this.#saved_seq = seq;
  }

  /** Whether no process has opened the database's usage store since. */
  async isLast(): Promise<boolean> {
    const link = await queries.findLink(this.#options.store.read);
    return link?.opening_id === this.#opening.id;
  }

  /** Closes the store, so that further queries and events are refused, and releases the lock. */
  async giveUp(): Promise<void> {
    clearInterval(this.#timer);
    this.#options.log.fatal(
      "usage store closed: another process uses this database with its own usage store; stop this one",
    );
    await this.usage.close();
    await this.#lock.release();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#saving;
    await this.#saveProgress(true);
    await this.usage.close();
    await this.#lock.release();
  }
}

/** The admission of a store. */
interface AdmittedStore {
  admission: Admission;
  opening: Opening;
  store_id: string;
  last_seq: number;
  lock: UsageLock;
  accepted: string | null;
}

async function admitStore(
  options: LinkOptions,
  facts: StoreFacts,
  linkedOf: () => LinkedUsage | undefined,
): Promise<AdmittedStore> {
  const { store, clock, log, accepts, place } = options;
  const lock = await UsageLock.take({
    store,
    onLost: () => log.warn("usage store: the database released its lock, taking it again"),
    isStillOurs: async () => (await linkedOf()?.isLast()) ?? true,
    giveUp: async () => linkedOf()?.giveUp(),
  });
  try {
    await store.tx((q) => queries.insertLink(q, clock.now(), crypto.randomUUID()));
    const database = { ...(await storeFactsOf(store)), counted_seq: await findLastCounted(store.read, null) };
    const usage = { ...facts, ...(await facts.keysAbove(database)) };
    const refused = refusalOf(database, usage);
    if (refused !== null && !accepts) throw refusal(place, refused);
    const seq_floor = Math.max(usage.last_seq, database.last_seq, database.counted_seq);
    if (refused !== null) await store.tx((q) => queries.raiseKeys(q, usage));
    const last_number = Math.max(database.opening_number, usage.openings.at(-1)?.number ?? 0);
    const opening = { number: last_number + 1, id: crypto.randomUUID() };
    const { database_id, opening_number, opening_id } = database;
    const known = refused !== null || opening_id === null ? null : { number: opening_number, id: opening_id };
    const admission = { database_id, opening, known, seq_floor };
    return { admission, opening, store_id: usage.store_id, last_seq: seq_floor, lock, accepted: refused };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function storeFactsOf({ read }: Store) {
  const link = await queries.findLink(read);
  if (!link) throw new Error("Cannot link a usage store: its row is missing");
  return { ...link, ...(await queries.findLastKeys(read)) };
}
