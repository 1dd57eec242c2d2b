import { LIMITS } from "../limits.ts";
import { AppError } from "../../core/errors.ts";

/** Circuit breaker: ends a run after too many store failures in a row. */
export class CircuitBreaker {
  #failures_in_a_row = 0;

  worked(): void {
    this.#failures_in_a_row = 0;
  }

  /** Errors: unavailable after too many failures in a row. */
  failed(cause: unknown): void {
    this.#failures_in_a_row += 1;
    if (this.#failures_in_a_row < LIMITS.billing_store_failures) return;
    throw new AppError(
      "unavailable",
      `Cannot go on billing: the stores failed ${LIMITS.billing_store_failures} times in a row`,
      { cause },
    );
  }
}
