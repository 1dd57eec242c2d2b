import type { Deps } from "../app/deps.ts";
import { damagedError } from "../core/damage.ts";

/** Looks for damage in the database's file. Errors: unavailable, with the first problems as its cause. */
export async function checkRecords({ store, log }: Pick<Deps, "store" | "log">): Promise<void> {
  const problems = await store.check();
  if (problems.length === 0) return;
  log.fatal({ problems }, "the database is damaged: restore the last backup");
  throw damagedError("records", new Error(problems.join("; ")));
}
