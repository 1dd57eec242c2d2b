import type { ExaminedUsage } from "../../examined_usage.ts";
import { ClickHouse } from "../engine/engine.ts";
import { measure } from "../query/measure.ts";
import { monthDigests, totals } from "../query/totals.ts";
import { checkSums } from "./check_sums.ts";
import { Removals } from "./removals.ts";

/** How long a question about all events may take. */
const ALL_MS = 6 * 3_600_000;

/** Opens a store to examine it, without taking lanes. Errors: unavailable when the server can't be reached. */
export async function openExaminedStore(url: string): Promise<ExaminedUsage> {
  const engine = ClickHouse.connect(url);
  const removals = await Removals.open(engine).catch(async (error: unknown) => {
    await engine.close();
    throw error;
  });
  return {
    sinceOf: (company_id) => removals.sinceOf(company_id),
    totals: (company_id, windows, { timeout_ms, ...stored_by }) =>
      totals(engine, company_id, windows, stored_by, { timeout_ms }),
    measure: (query, timeout_ms) => measure(engine, query, { timeout_ms }),
    check: () => checkSums(engine, null, { timeout_ms: ALL_MS }),
    digests: () => monthDigests(engine, Number.MAX_SAFE_INTEGER, { timeout_ms: ALL_MS }),
    close: () => engine.close(),
  };
}
