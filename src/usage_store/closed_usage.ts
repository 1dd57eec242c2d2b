import { AppError, type ErrorDetail, invalid } from "../core/errors.ts";
import { iso } from "../core/time.ts";
import type { NewEvent } from "./port.ts";

/** Events that are named in an error. */
const MAX_DETAILS = 100;

const at = (ms: number) => iso(Temporal.Instant.fromEpochMilliseconds(ms));

/** The problem of a timestamp before `since_ms`, where a company's usage is closed; undefined for a later one. */
export function closedProblem(timestamp: number, since_ms: number): string | undefined {
  if (timestamp >= since_ms) return undefined;
  return `must be at ${at(since_ms)} or later: earlier usage is closed, its bills were proved and its events removed`;
}

/** Errors: invalid when events have a timestamp before `since_ms`. */
export function refuseClosed(events: readonly NewEvent[], since_ms: number): void {
  const details: ErrorDetail[] = [];
  let refused = 0;
  for (const [position, { timestamp }] of events.entries()) {
    const message = closedProblem(timestamp, since_ms);
    if (message === undefined) continue;
    refused++;
    if (details.length < MAX_DETAILS) details.push({ path: `/${position}/timestamp`, message });
  }
  if (refused > 0)
    throw new AppError(
      "invalid",
      `Cannot store ${refused} of ${events.length} events: ${details[0]?.message}`,
      {
        details,
      },
    );
}

/** The error of an aggregate that removed events would be needed for. */
export function notKept(since_ms: number, kept: string): AppError {
  return invalid(
    "/start_time",
    `must be ${since_ms} (${at(since_ms)}) or later: of earlier usage only sums ${kept} are kept`,
  );
}

/** The error of a count, of what a bill counts, that removed events would be needed for. */
export function beforeEvents(since_ms: number): AppError {
  return new AppError(
    "conflict",
    `Cannot count usage before ${at(since_ms)}: its bills were proved and its events removed`,
  );
}
