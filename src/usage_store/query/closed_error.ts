import { AppError } from "../../core/errors.ts";

/** The error of calls after close. */
export function closedError(): AppError {
  return new AppError("unavailable", "Cannot use the usage store: it is closed", { retry_after_s: 1 });
}
