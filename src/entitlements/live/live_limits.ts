import type { Hold, HeldScope, KeyedWatch, LiveLimits } from "../../app/live_limits.ts";
import type { Background } from "../../core/background.ts";
import type { Log } from "../../core/log.ts";
import type { Decimal } from "../../core/money.ts";
import type { ReadTx, Store } from "../../store/store.ts";
import type { UsageStore } from "../../usage_store/port.ts";
import type { WatchedTotals } from "../../usage_store/running_totals.ts";
import { LIMITS } from "../limits.ts";
import { deleteReservations, listReservations, listRunning } from "../reservations/queries.ts";
import { ChangedSubscriptions } from "./changes.ts";
import { Holds } from "./holds.ts";
import { RatedSpending } from "./spending.ts";

/** A reservation, and whose event settles it. */
type ReservedId = Pick<Hold, "reservation_id" | "subscription_id">;

/** What the state of limits needs of a process. */
interface Services {
  store: Store;
  usage: UsageStore;
  background: Background;
  log: Log;
  usage_query_timeout_ms: number;
  /** Whether this process stores the company's usage, and no other did until now; left out where there is no other. */
  isOwner?: ((company_id: number) => Promise<boolean>) | undefined;
  /** Tells the process that stores the company's usage, where that is another one, of records that have changed. */
  tellOwner?: ((company_id: number, all: boolean) => void) | undefined;
}

/** A process's totals and holds. Decision 0236. */
export class ProcessLimits implements LiveLimits {
  readonly #services: Services;
  readonly #spending = new Map<number, RatedSpending>();
  readonly changes = new ChangedSubscriptions();
  readonly #holds = new Holds();
  readonly #totals = new Map<string, WatchedTotals>();
  /** Holds whose events are stored, and whose rows are there still. */
  #settled: Pick<Hold, "company_id" | "reservation_id">[] = [];
  #is_deleting = false;

  constructor(services: Services) {
    this.#services = services;
    services.usage.running_totals.listen(({ company_id, subscription_id, id }) => {
      this.#spending.get(company_id)?.note(subscription_id);
      this.changes.note(company_id, subscription_id);
      // An event under another subscription's reservation is refused; one that came past that takes nothing from it.
      if (this.#holds.find(company_id, id)?.subscription_id === subscription_id)
        this.settle(company_id, [id]);
    });
  }

  spendingOf(company_id: number): RatedSpending {
    const spending = this.#spending.get(company_id) ?? new RatedSpending();
    this.#spending.set(company_id, spending);
    return spending;
  }

  noteAlerts(company_id: number): void {
    this.changes.noteAll(company_id);
    this.#services.tellOwner?.(company_id, true);
  }

  noteRecords(company_id: number): void {
    this.#services.tellOwner?.(company_id, false);
    this.changes.forgetHeadroom(company_id);
    this.#spending.get(company_id)?.forgetList();
  }

  /** The companies that `isOf` names are this process's: what other processes knew of them is read from the records. */
  async take(isOf: (company_id: number) => boolean): Promise<void> {
    this.drop(isOf);
    this.changes.forget(isOf);
    await this.load(isOf);
  }

  /** They are another process's: its holds are the ones that count. */
  drop(isOf: (company_id: number) => boolean): void {
    this.#holds.drop(isOf);
    for (const company_id of this.#spending.keys()) if (isOf(company_id)) this.#spending.delete(company_id);
  }

  /** Reads the holds of an earlier process, but for those whose events it stored before it ended. */
  async load(isOf: (company_id: number) => boolean = () => true): Promise<void> {
    const { store } = this.#services;
    const rows = (await listReservations(store.read)).filter(({ company_id }) => isOf(company_id));
    for (const [company_id, holds] of Map.groupBy(rows, (hold) => hold.company_id)) {
      const settled = await this.#findSettled(company_id, holds);
      for (const hold of holds) if (!settled.has(hold.reservation_id)) this.#holds.add(hold);
      if (settled.size > 0) await store.tx((q) => deleteReservations(q, company_id, [...settled]));
    }
  }

  /** The ids of those reservations whose events are stored. */
  async #findSettled(company_id: number, reservations: readonly ReservedId[]): Promise<Set<string>> {
    const { usage, usage_query_timeout_ms } = this.#services;
    const ids = reservations.map(({ reservation_id }) => reservation_id);
    const stored = await usage.findStored(company_id, ids, usage_query_timeout_ms);
    const subscriptions = new Map(stored.map(({ id, subscription_id }) => [id, subscription_id]));
    // An event of another subscription settles nothing, also here.
    const settled = reservations.filter(
      ({ reservation_id, subscription_id }) => subscriptions.get(reservation_id) === subscription_id,
    );
    return new Set(settled.map(({ reservation_id }) => reservation_id));
  }

  totalsOf(watches: readonly KeyedWatch[]): WatchedTotals[] {
    const missing = [...new Map(watches.map((watch) => [watch.key, watch])).values()].filter(
      ({ key, from_ms }) => !this.#reaches(key, from_ms),
    );
    this.forget(missing.map(({ key }) => key));
    if (missing.length > 0) {
      const opened = this.#services.usage.running_totals.watch(missing);
      for (const [i, { key }] of missing.entries()) {
        const totals = opened[i];
        if (totals) this.#totals.set(key, totals);
      }
    }
    return watches.flatMap(({ key }) => this.#totals.get(key) ?? []);
  }

  /** Whether there are totals from an instant on: not of windows before, to which a clock that was set back returns. */
  #reaches(key: string, from_ms: number): boolean {
    const totals = this.#totals.get(key);
    return totals !== undefined && totals.floor_ms <= from_ms;
  }

  watchedKeys(company_id: number): string[] {
    return [...this.#totals].flatMap(([key, { watch }]) => (watch.company_id === company_id ? [key] : []));
  }

  forget(keys: readonly string[]): void {
    for (const key of keys) {
      this.#totals.get(key)?.close();
      this.#totals.delete(key);
    }
  }

  heldAt(now_ms: number, scope: HeldScope): Decimal {
    return this.#holds.heldAt(now_ms, scope);
  }

  async findSettled(tx: ReadTx, feature_ids: readonly number[]): Promise<Set<string>> {
    const reservations = await listRunning(tx, feature_ids);
    return reservations.length === 0 ? new Set() : this.#findSettled(tx.scope.company_id, reservations);
  }

  async findReserved(
    tx: ReadTx,
    feature_ids: readonly number[],
    settled: ReadonlySet<string>,
  ): Promise<number | undefined> {
    const reservations = await listRunning(tx, feature_ids);
    return reservations.find(({ reservation_id }) => !settled.has(reservation_id))?.feature_id;
  }

  count(company_id: number): number {
    return this.#holds.count(company_id);
  }

  find(company_id: number, reservation_id: string): Hold | undefined {
    return this.#holds.find(company_id, reservation_id);
  }

  decides(company_id: number): Promise<boolean> {
    return this.#services.isOwner?.(company_id) ?? Promise.resolve(true);
  }

  add(hold: Hold): void {
    this.#holds.add(hold);
  }

  remove(company_id: number, reservation_id: string): void {
    this.#holds.remove(company_id, reservation_id);
  }

  removeEnded(company_id: number, now_ms: number): void {
    this.#holds.removeEnded(company_id, now_ms);
  }

  settle(company_id: number, reservation_ids: readonly string[]): void {
    for (const reservation_id of reservation_ids)
      if (this.#holds.remove(company_id, reservation_id)) this.#settled.push({ company_id, reservation_id });
    if (this.#settled.length > 0 && !this.#is_deleting)
      void this.#services.background.track(this.#deleteSettled());
  }

  /** Where it fails the rows stay: the next one, their end or the next start deletes them. */
  async #deleteSettled(): Promise<void> {
    const { store, log } = this.#services;
    this.#is_deleting = true;
    try {
      while (this.#settled.length > 0) {
        const settled = this.#settled.splice(0, LIMITS.ended_batch);
        const companies = Map.groupBy(settled, ({ company_id }) => company_id);
        await store.tx(async (q) => {
          for (const [company_id, holds] of companies)
            await deleteReservations(
              q,
              company_id,
              holds.map(({ reservation_id }) => reservation_id),
            );
        });
      }
    } catch (error) {
      log.warn({ err: error }, "settled reservations are not deleted yet");
    } finally {
      this.#is_deleting = false;
    }
  }
}
