import { AppError } from "../../src/core/errors.ts";

/** The time a question of these tests may take. */
export const TIMEOUT_MS = 120_000;

/** When the events of these tests are stored. */
export const NOW_MS = 1_800_000_000_000;

export const FIRST_PAGE = { sort_by: "timestamp", sort_order: "asc", limit: 100, offset: 0 } as const;
export const TOTAL = { group_by: [], time_zone: "UTC", max_groups: 10_000, max_key_length: 500 } as const;

/** The AppError that a call fails with. */
export async function failure(call: Promise<unknown>): Promise<AppError> {
  const error = await call.then(
    () => new Error("Expected a failure, got an answer"),
    (reason: unknown) => reason,
  );
  if (error instanceof AppError) return error;
  throw error;
}
