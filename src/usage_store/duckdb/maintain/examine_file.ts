import type { ExaminedUsage } from "../../examined_usage.ts";
import { checkSums } from "./check_sums.ts";
import { readSince } from "./removal.ts";
import { type EngineLimits, openDatabase } from "../engine/database.ts";
import { monthDigests } from "../query/month_digests.ts";
import { measure } from "../query/measure.ts";
import { totals } from "../query/totals.ts";

/**
 * Opens a file that nobody uses to examine it: without the index, which takes memory. Errors: as `openDatabase`.
 */
export async function openExamined(path: string, limits: EngineLimits): Promise<ExaminedUsage> {
  const database = await openDatabase(path, limits);
  const connection = await database.instance.connect();
  const since = await readSince(connection);
  return {
    sinceOf: (company_id) => since.get(company_id) ?? 0,
    totals: (company_id, windows, { created_until_ms, last_seq }) =>
      totals(connection, company_id, windows, { created_until_ms, last_seq }),
    measure: (query) => measure(connection, query),
    check: () => checkSums(connection, null),
    digests: () => monthDigests(connection, Number.MAX_SAFE_INTEGER),
    async close() {
      connection.closeSync();
      database.close();
    },
  };
}
