import type { Metrics } from "../../app/metrics.ts";
import type { Store } from "../../store/store.ts";
import { countHolds } from "./queries.ts";

/** Registers the gauge of held debits. */
export function exposeHolds(metrics: Metrics, store: Store): void {
  metrics.sampled(
    "meterhouse_money_held",
    "Companies whose debits wait since a restore, until `collections resume`",
    () => countHolds(store.read),
  );
}
