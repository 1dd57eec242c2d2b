import type { Metrics } from "../../app/metrics.ts";
import type { Store } from "../../store/store.ts";
import { countHolds } from "./queries.ts";

/** Registers the gauge of held debits. */
export function exposeHolds(metrics: Metrics, store: Store): void {
  metrics.gauge(
    "meterhouse_money_held",
    "Companies whose debits wait since a restore, until `collections resume`",
    // A database that can't answer must not take the other numbers with it.
    () => countHolds(store.read).catch(() => Number.NaN),
  );
}
