import { AppError } from "../core/errors.ts";

/** The conflict of a compare-and-set that found another status: "Cannot verify document 7: it has just changed". */
export function changedMeanwhile(action: string): AppError {
  return new AppError("conflict", `Cannot ${action}: it has just changed`);
}
