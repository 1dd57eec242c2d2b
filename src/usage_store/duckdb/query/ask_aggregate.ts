import type { DuckDBConnection } from "@duckdb/node-api";
import type { AggregateQuery, AggregateRow } from "../../port.ts";
import type { Summed } from "../maintain/group_sums.ts";
import type { Recovery } from "../maintain/recovery.ts";
import { aggregate, cutsOf } from "./aggregate.ts";
import { withKept } from "./aggregate_kept.ts";
import { inRange } from "./in_range.ts";
import { eventsRead } from "./rollup.ts";
import { askedSums } from "./sums_choice.ts";

/** As `UsageStore.aggregate`. */
export async function askAggregate(
  recovery: Recovery,
  wanted: AggregateQuery,
  timeout_ms: number,
): Promise<AggregateRow[]> {
  const { company_id } = wanted;
  const { companies } = recovery.known;
  if (companies.reachBeyond(wanted)) {
    const read = withKept(wanted, companies);
    return recovery.query(company_id, ({ readers }) => readers.run(company_id, timeout_ms, read), timeout_ms);
  }
  const { range } = companies;
  return recovery.query(
    company_id,
    ({ readers, group_sums, compactor }) =>
      readers.runStatement(company_id, timeout_ms, async (connection: DuckDBConnection) => {
        const { summed } = group_sums;
        const ask = (by: Summed | undefined) =>
          inRange(companies, connection, wanted, (reduced, has_few) =>
            aggregate(connection, reduced, { range, has_few, summed: by }),
          );
        const groups = await ask(summed);
        // The sums changed meanwhile, before the statement read them or after.
        if (summed !== undefined && summed !== group_sums.summed) return ask(undefined);
        const found = groups.reduce((sum, { event_count }) => sum + event_count, 0);
        const events = eventsRead(wanted, { found, within: companies.eventsWithin(wanted) });
        const findAsked = (reads_many: boolean) =>
          askedSums(wanted, cutsOf(wanted, range), summed, reads_many);
        group_sums.countQuery(company_id, findAsked, events);
        compactor.notice();
        return groups;
      }),
    timeout_ms,
  );
}
