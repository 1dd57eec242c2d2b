import { AppError } from "../core/errors.ts";
import { KeyedMutex } from "../core/keyed_mutex.ts";
import { type Constraints, constraintError, sqlState } from "./constraints.ts";
import { transactionRetries } from "./metrics.ts";

/** Serialization failures are retried this often before the caller gets a 503. */
const ATTEMPTS = 12;
/** From this attempt on, retries of this process run one at a time: among many that conflict none starves. */
const IN_TURN_FROM = 4;
const SERIALIZATION_FAILURE = "40001";
const DEADLOCK_DETECTED = "40P01";

/**
 * Runs transactions, each again after a conflict with another one. Errors: unavailable when there were too many; those
 * of broken constraints.
 */
export function retriesOf(constraints: Constraints): <T>(transaction: () => Promise<T>) => Promise<T> {
  const retries = new KeyedMutex<"in turn">();
  return async (transaction) => {
    for (let attempt = 1; ; attempt++) {
      try {
        if (attempt < IN_TURN_FROM) return await transaction();
        return await retries.run("in turn", transaction);
      } catch (error) {
        const state = sqlState(error);
        if (state !== SERIALIZATION_FAILURE && state !== DEADLOCK_DETECTED)
          throw constraintError(error, constraints) ?? error;
        if (attempt === ATTEMPTS) {
          throw new AppError("unavailable", "Too many changes at once: try again", {
            retry_after_s: 1,
            cause: error,
          });
        }
        transactionRetries.add();
        await Bun.sleep(Math.random() * 4 * 2 ** Math.min(attempt, 6));
      }
    }
  };
}
