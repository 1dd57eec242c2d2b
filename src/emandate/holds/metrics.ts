import type { Metrics } from "../../app/metrics.ts";
import type { ClockHold } from "../../core/guarded_clock.ts";
import type { Store } from "../../store/store.ts";
import { countHolds } from "./queries.ts";

/** Registers the gauge of money that is held. */
export function exposeHolds(metrics: Metrics, store: Store, clock: ClockHold): void {
  metrics.sampled(
    "meterhouse_money_held",
    "Companies whose debits wait since a restore, until `collections resume`; 1 more while all money waits for the clock",
    async () => (await countHolds(store.read)) + (clock.problem === null ? 0 : 1),
  );
}
