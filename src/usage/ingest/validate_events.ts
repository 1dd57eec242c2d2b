import { SHARED_LIMITS } from "../../core/limits.ts";
import { LIMITS } from "../limits.ts";
import { AppError, type ErrorDetail, pointerPart } from "../../core/errors.ts";
import { iso } from "../../core/time.ts";
import type { MeteredSubscription } from "./queries.ts";
import { externalIdOf } from "../subscription_key.ts";
import { roundUsage } from "./rules.ts";
import { type CanonicalJson, canonicalJson } from "../../usage_store/metadata.ts";
import type { NewEvent } from "../../usage_store/port.ts";

// Written by hand: these rules need the clock, the subscription and the metadata's size, and the answer must
// name every broken event, of which a schema's union tells nothing. Decision 0020.

/** A broken rule: `position` counts from 0; `field` is empty where the event itself is wrong. */
export interface Problem {
  position: number;
  field: string;
  message: string;
}

/** What events are read against. */
export interface ReadOptions {
  company_id: number;
  now_ms: number;
  /** By external id, at least those that `externalIdsOf` named. */
  subscriptions: ReadonlyMap<string, MeteredSubscription>;
  /** Whether a usage may come as text, as files have it. */
  usage_as_text: boolean;
  /** Reading stops when there are more problems than this; one more is kept, to tell that. */
  max_problems: number;
}

/** The events that keep every rule, where they stood, and what was wrong with the others. */
export interface ReadEvents {
  events: NewEvent[];
  positions: number[];
  problems: Problem[];
}

/** A broken rule at its place in the event as it was sent, a JSON pointer. */
export interface PlacedProblem {
  position: number;
  path: string;
  message: string;
}

/** Events as they came, and how they are spoken of. */
export interface SentEvents {
  raws: readonly unknown[];
  /** Whether it was one that stood alone. */
  single: boolean;
  /** By position, ids under which an earlier release may have stored the event. */
  former_ids?: ReadonlyMap<number, string>;
  /** All that is wrong with them, given what was found wrong with the `raws`. */
  locateProblems: (found: readonly Problem[]) => PlacedProblem[];
}

const FIELDS = ["id", "external_subscription_id", "subscription_id", "timestamp", "usage", "metadata"];
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The escape that JSON.stringify writes for NUL. */
const NUL = /(?<!\\)(?:\\\\)*\\u0000/;

/**
 * Takes a body apart: one event, an array of them, or `{events: […]}`.
 * Errors: invalid for another shape or no event, too_large for too many.
 */
export function sentEvents(body: unknown): SentEvents {
  if (Array.isArray(body)) return { raws: bounded(body), single: false, locateProblems: fieldProblems };
  if (!isObject(body)) throw invalidBody("", "must be an event, an array of events or {events: […]}");
  if (!Object.hasOwn(body, "events")) return { raws: [body], single: true, locateProblems: fieldProblems };
  const { events, ...others } = body;
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw invalidBody(`/${pointerPart(other)}`, "is not a known field; known is events");
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

/** The external ids that the events name, each once. Others are left out: they name no subscription. */
export function externalIdsOf(company_id: number, raws: readonly unknown[]): string[] {
  const ids = new Set<string>();
  for (const raw of raws) {
    const id = isObject(raw) ? externalIdIn(company_id, raw) : undefined;
    if (id === undefined || ids.has(id) || id.length > SHARED_LIMITS.external_id_length) continue;
    // What is no text names nothing, and is no text for the database either.
    if (!id.includes("\0") && id.isWellFormed()) ids.add(id);
  }
  return [...ids];
}

/** Reads events, each on its own: a broken one does not spoil the others. */
export function readEvents(raws: readonly unknown[], reading: ReadOptions): ReadEvents {
  const read: ReadEvents = { events: [], positions: [], problems: [] };
  let position = 0;
  for (const raw of raws) {
    const event = new EventReader(raw, position, reading, read.problems).read();
    if (event) {
      read.events.push(event);
      read.positions.push(position);
    } else if (read.problems.length > reading.max_problems) break;
    position++;
  }
  return read;
}

/** The 422 of a request with broken events: places as `/3/usage`, of a single event `/usage`. */
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

/** Reads one event; what is wrong with it goes to `problems`. */
class EventReader {
  readonly #raw: unknown;
  readonly #position: number;
  readonly #reading: ReadOptions;
  readonly #problems: Problem[];

  constructor(raw: unknown, position: number, reading: ReadOptions, problems: Problem[]) {
    this.#raw = raw;
    this.#position = position;
    this.#reading = reading;
    this.#problems = problems;
  }

  read(): NewEvent | undefined {
    const raw = this.#raw;
    if (!isObject(raw)) return this.#refuse("", "must be an object");
    const before = this.#problems.length;
    for (const field in raw) {
      if (FIELDS.includes(field) || !Object.hasOwn(raw, field)) continue;
      // It may have more of them than anyone wants to hear of.
      if (this.#problems.length > this.#reading.max_problems) return undefined;
      this.#refuse(field, `is not a known field; known are ${FIELDS.join(", ")}`);
    }
    const id = this.#id(raw.id);
    const subscription = this.#subscription(raw);
    const timestamp = this.#timestamp(raw.timestamp);
    const usage = this.#usage(raw.usage);
    const metadata = this.#metadata(raw.metadata);
    const outside = timestamp === undefined ? undefined : outsideLife(timestamp, subscription);
    // With an id, and nothing else wrong, it may be a repeat: only the store can tell (decision 0021).
    if (outside !== undefined && (raw.id === undefined || this.#problems.length > before)) {
      this.#refuse("timestamp", outside);
    }
    // Each reads as undefined only after its problem was noted; the compiler can't know.
    if (this.#problems.length > before || id === undefined || subscription === undefined) return undefined;
    if (timestamp === undefined || usage === undefined || metadata === undefined) return undefined;
    const timestamp_given = raw.timestamp !== undefined;
    const event = { id, subscription_id: subscription.id, timestamp, timestamp_given, usage, metadata };
    return outside === undefined ? event : { ...event, only_if_stored: outside };
  }

  #id(id: unknown): string | undefined {
    if (id === undefined) return Bun.randomUUIDv7();
    if (typeof id === "string" && UUID.test(id)) return id.toLowerCase();
    return this.#refuse("id", "must be a UUID");
  }

  #subscription(raw: Record<string, unknown>): MeteredSubscription | undefined {
    const { external_subscription_id: external, subscription_id: composite } = raw;
    if (external !== undefined && composite !== undefined) {
      return this.#refuse("subscription_id", "must be left out where external_subscription_id is given");
    }
    if (external === undefined && composite === undefined) {
      return this.#refuse("external_subscription_id", "is required, or subscription_id in its place");
    }
    if (external !== undefined && typeof external !== "string") {
      return this.#refuse("external_subscription_id", "must be a string");
    }
    if (composite !== undefined && typeof composite !== "string") {
      return this.#refuse(
        "subscription_id",
        "must be a string of the form <company_id>:<external_subscription_id>",
      );
    }
    const id = externalIdIn(this.#reading.company_id, raw);
    const subscription = id === undefined ? undefined : this.#reading.subscriptions.get(id);
    if (subscription !== undefined) return subscription;
    const field = composite === undefined ? "external_subscription_id" : "subscription_id";
    return this.#refuse(field, "names no subscription of this company");
  }

  #timestamp(given: unknown): number | undefined {
    const { now_ms } = this.#reading;
    const timestamp = given === undefined ? now_ms : given;
    if (typeof timestamp !== "number" || !Number.isInteger(timestamp) || timestamp < 0) {
      return this.#refuse("timestamp", "must be a whole number of milliseconds since 1970");
    }
    if (timestamp > now_ms + LIMITS.usage_future_ms) {
      return this.#refuse("timestamp", `must be at most an hour in the future; here it is ${at(now_ms)}`);
    }
    return timestamp === 0 ? 0 : timestamp;
  }

  #usage(usage: unknown): string | undefined {
    if (usage === undefined) return this.#refuse("usage", "is required");
    if (typeof usage === "number" || (this.#reading.usage_as_text && typeof usage === "string")) {
      const rounded = roundUsage(usage);
      return rounded ?? this.#refuse("usage", "must be a finite number under 1e12 in size");
    }
    return this.#refuse("usage", "must be a number");
  }

  /** Null for none and for an empty one: the two are the same content. Undefined when it is refused. */
  #metadata(metadata: unknown): CanonicalJson | null | undefined {
    if (metadata === undefined) return null;
    if (!isObject(metadata)) return this.#refuse("metadata", "must be an object");
    const { json, problem } = readMetadata(metadata);
    return problem === undefined ? json : this.#refuse("metadata", problem);
  }

  #refuse(field: string, message: string): undefined {
    this.#problems.push({ position: this.#position, field, message });
  }
}

const refuse = (problem: string) => ({ json: null, problem });

/** Metadata as it is stored, null for an empty one, or what is wrong with it. */
export function readMetadata(metadata: Record<string, unknown>): {
  json: CanonicalJson | null;
  problem?: string;
} {
  const keys = Object.keys(metadata).length;
  if (keys === 0) return { json: null };
  if (keys > LIMITS.usage_metadata_keys) {
    return refuse(`must have at most ${LIMITS.usage_metadata_keys} keys`);
  }
  try {
    const json = canonicalJson(metadata);
    if (json.includes("\\u0000") && NUL.test(json)) return refuse("must not contain the NUL character");
    // No character takes more than three bytes for each of its units.
    const too_long =
      json.length * 3 > LIMITS.usage_metadata_bytes && Buffer.byteLength(json) > LIMITS.usage_metadata_bytes;
    return too_long ? refuse(`must be at most ${LIMITS.usage_metadata_bytes} bytes of JSON`) : { json };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return refuse(error.message.replace(/^Cannot store metadata: it/, "must not be stored: it"));
  }
}

/** What is wrong with an instant outside of a subscription's life. */
function outsideLife(timestamp: number, subscription: MeteredSubscription | undefined): string | undefined {
  if (subscription === undefined) return undefined;
  const { starts_ms, ends_ms } = subscription;
  if (timestamp < starts_ms) return `must not be before the subscription's start, ${at(starts_ms)}`;
  if (ends_ms !== null && timestamp >= ends_ms)
    return `must be before the subscription's end, ${at(ends_ms)}`;
  return undefined;
}

function externalIdIn(company_id: number, raw: Record<string, unknown>): string | undefined {
  const { external_subscription_id: external, subscription_id: composite } = raw;
  if (typeof external === "string") return external;
  return typeof composite === "string" ? externalIdOf(company_id, composite) : undefined;
}

/** What an append refused event by event, by position. Empty for any other error. */
export function refusedEvents(error: unknown): Problem[] {
  if (!(error instanceof AppError) || !["conflict", "invalid"].includes(error.kind)) return [];
  return (error.details ?? []).flatMap(({ path, message }) => {
    const [, position, field] = /^\/(\d+)\/(\w+)$/.exec(path) ?? [];
    return position === undefined || field === undefined
      ? []
      : [{ position: Number(position), field, message }];
  });
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function at(ms: number): string {
  return iso(Temporal.Instant.fromEpochMilliseconds(ms));
}

/** The 422 of a body whose shape is wrong. */
export function invalidBody(path: string, message: string): AppError {
  return new AppError("invalid", `${path.slice(1) || "body"} ${message}`, { details: [{ path, message }] });
}
