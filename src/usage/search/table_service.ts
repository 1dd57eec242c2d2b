import { operation } from "../../app/operation.ts";
import { readTx } from "../../app/transaction.ts";
import { invalid } from "../../core/errors.ts";
import { listZones } from "../../tenancy/companies/queries.ts";
import { LIMITS } from "../limits.ts";
import { bucketsOf } from "./buckets.ts";
import { assertIdsInScope, filterOf } from "./filters.ts";
import { SumUsage, UsageTable } from "./model.ts";
import { aggregateUsage } from "./service.ts";
import { isTime, tableOf } from "./table.ts";

/**
 * Sums the matching events as a table: the largest groups with rows, the others as one, and a row for each day where
 * the days alone are asked for. Errors: as `searchUsage`; invalid for a limit of groups by time alone. Decision 0288.
 */
export const tabulateUsage = operation({
  name: "tabulate_usage",
  permission: "usage:read",
  input: SumUsage,
  output: UsageTable,
  async run(ctx, { limit, has_bounds = false, ...input }) {
    const { group_by = [] } = input;
    const kinds = typeof group_by === "string" ? [group_by] : group_by;
    if (limit !== undefined && kinds.every(isTime))
      throw invalid("/limit", "must be left out without groups other than by time: all have rows");
    const [zones] = await Promise.all([listZones(readTx(ctx)), assertIdsInScope(ctx, input)]);
    const filter = await filterOf(ctx, input, zones);
    const sums = await aggregateUsage(ctx, filter, zones, input);
    const [only, ...more] = kinds;
    const is_in_order = input.sort_by !== "usage" && input.sort_order !== "desc";
    const is_filled = more.length === 0 && is_in_order;
    const keys = sums.flatMap(({ group_key }) => (typeof group_key === "string" ? [group_key] : []));
    const known = { now: ctx.now, zones, max: LIMITS.usage_groups };
    const buckets =
      is_filled && (only === "day" || only === "hour" || only === "month")
        ? bucketsOf(only, keys, filter, known)
        : null;
    return tableOf(kinds, sums, { limit: limit ?? LIMITS.usage_table_groups, buckets, has_bounds });
  },
});
