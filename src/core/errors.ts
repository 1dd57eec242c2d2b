/** Kinds of errors, independent of transport. `http/errors.ts` gives each kind its status. */
export type ErrorKind =
  | "malformed" // the request can't be read, or asks something the record can't answer (400)
  | "unauthorized" // no one is signed in (401)
  | "forbidden" // someone is, and may not (403)
  | "not_found" // 404
  | "method_not_allowed" // 405
  | "timed_out" // the request took too long to arrive (408)
  | "aborted" // nobody waits for the answer any more (499, as nginx logs it)
  | "conflict" // the record's state forbids it (409)
  | "precondition_failed" // it is not the record that If-Match names (412)
  | "too_large" // 413
  | "unsupported_media_type" // 415
  | "invalid" // readable, but breaks a rule (422)
  | "rate_limited" // 429
  | "unavailable"; // try again later (503)

/** One broken rule of an input. `path` is a JSON pointer into the input: `/usage_tiers/0/up_to`. */
export interface ErrorDetail {
  path: string;
  message: string;
}

/**
 * How far a stream of lines got. `line`, from 1, is the one that is wrong, or the first that was not stored;
 * `accepted` and `duplicates` count the events of the lines that were.
 */
export interface StreamProgress {
  line: number;
  accepted: number;
  duplicates: number;
}

/** Something that a record lacks before it can go on: a document's type, a consent's code, or a field's name. */
export interface Prerequisite {
  kind: "document" | "consent" | "field";
  code: string;
}

/**
 * An error whose message the caller sees, word for word. State the action, then the state that forbids it:
 * "Cannot delete client 7: it has 2 active subscriptions". Anything else thrown is answered as
 * "Internal error" and only logged.
 */
export class AppError extends Error {
  readonly kind: ErrorKind;
  readonly details: ErrorDetail[] | undefined;
  /** Seconds after which the same call may succeed (rate_limited, unavailable). */
  readonly retry_after_s: number | undefined;
  /** Present when the call was a stream of which a part may be stored. */
  readonly progress: StreamProgress | undefined;
  /** Present when the record can't go on because something is not there yet. */
  readonly missing: Prerequisite[] | undefined;

  constructor(
    kind: ErrorKind,
    message: string,
    extra: {
      details?: ErrorDetail[] | undefined;
      retry_after_s?: number | undefined;
      progress?: StreamProgress;
      missing?: Prerequisite[] | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: extra.cause });
    this.name = "AppError";
    this.kind = kind;
    this.details = extra.details;
    this.retry_after_s = extra.retry_after_s;
    this.progress = extra.progress;
    this.missing = extra.missing;
  }
}

/** A key as one part of a JSON pointer (RFC 6901). */
export function pointerPart(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** A place of the input in words: `/usage_tiers/0` → `usage_tiers.0`. */
export function fieldName(path: string): string {
  return path.slice(1).replaceAll("/", ".") || "body";
}

/** The 422 of a rule that only the service can check, at one place of the input. */
export function invalid(path: string, message: string): AppError {
  return new AppError("invalid", `${fieldName(path)} ${message}`, { details: [{ path, message }] });
}

/** The 422 of several broken rules at once; all of them are in the details, the first ones in the words. */
export function invalidAll(details: ErrorDetail[]): AppError {
  return new AppError("invalid", summarize(details), { details });
}

/** Broken rules in words: the first three, and how many more there are. */
export function summarize(details: readonly ErrorDetail[], is_cut = false): string {
  const parts = details.slice(0, 3).map(({ path, message }) => `${fieldName(path)} ${message}`);
  const others = details.length - parts.length;
  if (others > 0) parts.push(`and ${is_cut ? "at least " : ""}${others} more`);
  return parts.join("; ");
}

/** The 404 of a record that is not there, or not this company's: the two look the same. */
export function notFound(noun: string, id: number | string): AppError {
  return new AppError("not_found", `${noun} ${id} not found`);
}

/** A record that was looked up by its id. Errors: not_found when there is none. */
export function orNotFound<T>(record: T | undefined, noun: string, id: number): T {
  if (record === undefined) throw notFound(noun, id);
  return record;
}

/** The 409 of a record that active subscriptions still need. */
export function inUse(noun: string, id: number, active: number): AppError {
  const subscriptions = active === 1 ? "1 active subscription" : `${active} active subscriptions`;
  return new AppError("conflict", `Cannot delete ${noun} ${id}: it has ${subscriptions}`);
}
