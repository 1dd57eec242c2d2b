import { Tallying } from "../../running/tally_events.ts";
import type { TotalsKeeper } from "../../running/keeper.ts";
import type { RunningTotals, Watch, WatchedEvent, WatchedTotals } from "../../running_totals.ts";
import type { TallyQuery, TotalsSource } from "../../running/totals_source.ts";
import { minimum, spanOf } from "../../windows.ts";
import type { ClickHouse } from "../engine/engine.ts";
import { integer } from "../engine/sql.ts";
import type { Removals } from "../maintain/removals.ts";
import { subscriptionSql } from "./filters.ts";
import { eachEvent, readEvents } from "./numbered_events.ts";

/** The running totals of all lanes: each has a keeper, as numbers of different lanes can't be compared. */
export class LaneTotals implements RunningTotals {
  readonly #keepers: readonly TotalsKeeper[];
  readonly #settled: (lane: number) => Promise<void>;

  /** `settled` resolves when it is known who keeps the totals of a lane: its owner, and nobody else. */
  constructor(keepers: readonly TotalsKeeper[], settled: (lane: number) => Promise<void>) {
    this.#keepers = keepers;
    this.#settled = settled;
  }

  /** The keeper of a company's lane. */
  of(company_id: number): TotalsKeeper {
    const keeper = this.#keepers[company_id % this.#keepers.length];
    if (keeper === undefined) throw new RangeError(`Company ${company_id} has no lane`);
    return keeper;
  }

  lastSeqOf(company_id: number): number {
    return this.of(company_id).lastSeqOf(company_id);
  }

  get counts(): RunningTotals["counts"] {
    const counts = { watches: 0, uncertain: 0 };
    for (const { counts: of_lane } of this.#keepers) {
      counts.watches += of_lane.watches;
      counts.uncertain += of_lane.uncertain;
    }
    return counts;
  }

  watch(watches: readonly Watch[]): WatchedTotals[] {
    const places = new Map(watches.map((watch, place) => [watch, place]));
    const all: WatchedTotals[] = [];
    for (const [keeper, of_lane] of Map.groupBy(watches, ({ company_id }) => this.of(company_id)))
      for (const [i, watched] of keeper.watch(of_lane).entries()) {
        const watch = of_lane[i];
        if (watch !== undefined) all[places.get(watch) ?? 0] = watched;
      }
    return all;
  }

  async counted(): Promise<void> {
    const count = async (keeper: TotalsKeeper, lane: number): Promise<void> => {
      if (keeper.counts.uncertain > 0) await this.#settled(lane);
      await keeper.counted();
    };
    await Promise.all(this.#keepers.map(count));
  }

  listen(listener: (event: WatchedEvent) => void): () => void {
    const ends = this.#keepers.map((keeper) => keeper.listen(listener));
    return () => {
      for (const end of ends) end();
    };
  }

  forgetBefore(ms: number): void {
    for (const keeper of this.#keepers) keeper.forgetBefore(ms);
  }

  async close(): Promise<void> {
    await Promise.all(this.#keepers.map((keeper) => keeper.close()));
  }
}

/** How long one counting may take. */
const COUNTING_MS = 600_000;

/** Counts the events of a lane for its running totals. */
export function laneSource(
  engine: ClickHouse,
  lane: number,
  removals: Pick<Removals, "sinceOf">,
  signal: AbortSignal,
): TotalsSource {
  const bounds = { timeout_ms: COUNTING_MS, signal };
  return {
    async tally(query) {
      const tallying = new Tallying(query);
      if (query.windows.length > 0)
        await eachEvent(
          engine,
          tallySql(query),
          () => true,
          (event) => tallying.add(event),
          bounds,
        );
      return tallying.rows();
    },
    readEvents: (range, isWanted, take) => readEvents(engine, range, lane, isWanted, take, bounds),
    sinceOf: (company_id) => removals.sinceOf(company_id),
  };
}

/** SQL of the condition of all events of the windows. */
function tallySql({ company_id, windows, last_seq }: TallyQuery): string {
  const { start_ms, end_ms } = spanOf(windows);
  return [
    `company_id = ${integer(company_id)}`,
    `timestamp >= ${integer(start_ms)} AND timestamp < ${integer(end_ms)}`,
    subscriptionSql([...new Set(windows.map(({ subscription_id }) => subscription_id))]),
    `seq > ${integer(minimum(windows.map(({ after_seq }) => after_seq)))} AND seq <= ${integer(last_seq)}`,
  ].join(" AND ");
}
