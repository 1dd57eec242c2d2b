import { counter, histogram } from "../core/metrics.ts";
import { span } from "../core/trace.ts";

const seconds = histogram(
  "meterhouse_store_tx_duration_seconds",
  "Duration of transactions that write, from the wait for their turn until the commit is durable",
);

/** Attempts after a first one that ended in a conflict with another transaction. */
export const transactionRetries = counter(
  "meterhouse_store_tx_retries_total",
  "Transactions run again: after a conflict on PostgreSQL, or because another process was writing to SQLite",
);

/** Runs a transaction, times it and traces it. */
export function observedTransaction<T>(run: () => Promise<T>): Promise<T> {
  return span("transaction", {}, async () => {
    const began_ms = performance.now();
    try {
      return await run();
    } finally {
      seconds.observeSince(began_ms);
    }
  });
}
