import packageJson from "../../package.json" with { type: "json" };
import { unmendable } from "./exit_codes.ts";

/** The version of this program. */
const PROGRAM_VERSION = packageJson.version;

/**
 * Refuses what a newer program has written. `min_program`: the oldest program that may use it, undefined where that is
 * not on record. Errors: exit 78, naming both versions, behind `words`.
 */
export function admitProgram(min_program: string | undefined, words = ""): void {
  if (min_program === undefined || Bun.semver.order(PROGRAM_VERSION, min_program) >= 0) return;
  throw unmendable(
    `${words}it needs Meterhouse ${min_program} or newer, and this is ${PROGRAM_VERSION}: start the newer program, or restore what was saved before the upgrade`,
  );
}
