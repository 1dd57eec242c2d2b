import type { TotalsSource } from "../../running/totals_source.ts";
import type { Recovery } from "../maintain/recovery.ts";
import { readEvents } from "./numbered_events.ts";
import { tally } from "./tally.ts";

/** How long one counting may take. */
const COUNTING_MS = 600_000;

/** Counts on a connection of its own: no query waits for it, nor it for them. */
export function totalsSource(recovery: Recovery): TotalsSource {
  return {
    tally: (query) =>
      recovery.query(null, ({ countings }) =>
        countings.runStatement(null, COUNTING_MS, (connection) => tally(connection, query)),
      ),
    readEvents: (...asked) =>
      recovery.query(null, ({ countings }) =>
        countings.runStatement(null, COUNTING_MS, (connection) => readEvents(connection, ...asked)),
      ),
    sinceOf: (company_id) => recovery.known.companies.sinceOf(company_id),
  };
}
