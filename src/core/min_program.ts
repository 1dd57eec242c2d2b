import { unmendable } from "./exit_codes.ts";
import { VERSION } from "./version.ts";

/**
 * Refuses what a newer program has written. `min_program`: the oldest program that may use it, undefined where that is
 * not on record. Errors: exit 78, naming both versions, behind `words`.
 */
export function admitProgram(min_program: string | undefined, words = ""): void {
  if (min_program === undefined || Bun.semver.order(VERSION.version, min_program) >= 0) return;
  throw unmendable(
    `${words}it needs Meterhouse ${min_program} or newer, and this is ${VERSION.version}: start the newer program, or restore what was saved before the upgrade`,
  );
}
