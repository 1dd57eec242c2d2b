import { AppError } from "./errors.ts";
import { unmendable } from "./exit_codes.ts";
import { counterBy } from "./metrics.ts";
import { PROGRAM } from "./program_files.ts";

/** What can be damaged on a disk: the records, the usage events, the uploaded documents. */
type Damaged = "records" | "usage" | "documents";

const met = counterBy(
  "meterhouse_damage_met_total",
  "How often damaged data was met, by where it lies",
  "store",
  ["records", "usage", "documents"],
);

/** A damaged file does not heal: whoever asks again soon asks in vain. */
const RETRY_AFTER_S = 300;

/** The 503 of a question that met damaged data: never a part of an answer. It is counted. */
export function damagedError(store: Damaged, cause: unknown): AppError {
  met.of(store).add();
  return new AppError(
    "unavailable",
    "Cannot answer this: stored data is damaged, the operator must restore it",
    {
      retry_after_s: RETRY_AFTER_S,
      cause,
    },
  );
}

/** What ends a start that met damaged data: exit 78, with the way out. */
export function damagedAtStart(what: string, cause: unknown): Error {
  met.of(what.startsWith("The usage") ? "usage" : "records").add();
  const reason = cause instanceof Error ? cause.message : String(cause);
  return unmendable(
    `${what} is damaged: ${reason.split("\n")[0]}. Keep DATA_DIR as it is for inspection, and restore the last backup into an empty folder: ${PROGRAM} restore POINT --to DIR`,
    cause,
  );
}
