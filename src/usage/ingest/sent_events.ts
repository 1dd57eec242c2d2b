import { AppError, type ErrorDetail, pointerPart } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { isObject, type Problem } from "./validate_events.ts";

/** A broken rule, with its JSON pointer in the event as it was sent. */
export interface PlacedProblem {
  position: number;
  path: string;
  message: string;
}

/** The events of a request, before validation. */
export interface SentEvents {
  raws: readonly unknown[];
  /** Whether it was one event, not a list. */
  single: boolean;
  /** By position, the ids that an earlier release may have stored the event under. */
  former_ids?: ReadonlyMap<number, string>;
  /** All problems at their places, given those found in the `raws`. */
  locateProblems: (found: readonly Problem[]) => PlacedProblem[];
}

/**
 * Splits a body into events: one event, an array of them, or `{events: […]}`.
 * Errors: invalid for another shape or no event, too_large for too many.
 */
export function splitEvents(body: unknown): SentEvents {
  if (Array.isArray(body)) return { raws: bounded(body), single: false, locateProblems: fieldProblems };
  if (!isObject(body)) throw invalidBody("", "must be an event, an array of events or {events: […]}");
  if (!Object.hasOwn(body, "events")) return { raws: [body], single: true, locateProblems: fieldProblems };
  const { events, ...others } = body;
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw invalidBody(`/${pointerPart(other)}`, "is not a known field; only events is");
  if (!Array.isArray(events)) throw invalidBody("/events", "must be an array");
  return { raws: bounded(events), single: false, locateProblems: fieldProblems };
}

function fieldProblems(found: readonly Problem[]): PlacedProblem[] {
  return found.map(({ position, field, message }) => ({
    position,
    path: field === "" ? "" : `/${pointerPart(field)}`,
    message,
  }));
}

function bounded(events: readonly unknown[]): readonly unknown[] {
  if (events.length === 0) throw invalidBody("", `must hold 1 to ${LIMITS.usage_batch} events`);
  return withinBatch(events);
}

/** Errors: too_large for more events than one request may hold. */
export function withinBatch(events: readonly unknown[]): readonly unknown[] {
  if (events.length <= LIMITS.usage_batch) return events;
  throw new AppError(
    "too_large",
    `Cannot store ${events.length} events at once: a request holds at most ${LIMITS.usage_batch}`,
  );
}

/** The 422 for broken events: paths as `/3/usage`, of a single event `/usage`. */
export function invalidEvents(problems: readonly PlacedProblem[], single: boolean): AppError {
  const details: ErrorDetail[] = problems
    .slice(0, LIMITS.usage_problems)
    .map(({ position, path, message }) => ({ path: single ? path : `/${position}${path}`, message }));
  const summary = details.slice(0, 3).map(({ path, message }) => `${path.slice(1) || "body"} ${message}`);
  if (details.length > 3) {
    const others = problems.length > details.length ? "at least " : "";
    summary.push(`and ${others}${details.length - 3} more`);
  }
  return new AppError("invalid", `Nothing was stored: ${summary.join("; ")}`, { details });
}

/** The events that an append refused, by position; none for any other error. */
export function refusedEvents(error: unknown): Problem[] {
  if (!(error instanceof AppError) || !["conflict", "invalid"].includes(error.kind)) return [];
  return (error.details ?? []).flatMap(({ path, message }) => {
    const [, position, field] = /^\/(\d+)\/(\w+)$/.exec(path) ?? [];
    return position === undefined || field === undefined
      ? []
      : [{ position: Number(position), field, message }];
  });
}

/** The 422 for a body of another shape. */
export function invalidBody(path: string, message: string): AppError {
  return new AppError("invalid", `${path.slice(1) || "body"} ${message}`, { details: [{ path, message }] });
}
