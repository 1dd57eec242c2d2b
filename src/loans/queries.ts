import { and, type AnyColumn, eq, type SQL } from "drizzle-orm";
import type { LoanScope } from "./scope.ts";

/** Rows of one company in one environment, whichever loan agent they belong to. */
export function environmentOwned(
  table: { company_id: AnyColumn; environment: AnyColumn },
  { company_id, environment }: LoanScope,
): SQL | undefined {
  return and(eq(table.company_id, company_id), eq(table.environment, environment));
}
