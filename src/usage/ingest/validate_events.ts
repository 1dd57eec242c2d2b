import { SHARED_LIMITS } from "../../core/limits.ts";
import { LIMITS } from "../limits.ts";
import { AppError } from "../../core/errors.ts";
import { iso } from "../../core/time.ts";
import type { MeteredSubscription } from "./queries.ts";
import { externalIdOf } from "../subscription_key.ts";
import { roundUsage } from "./rules.ts";
import { type CanonicalJson, canonicalJson } from "../../usage_store/metadata.ts";
import { closedProblem } from "../../usage_store/closed_usage.ts";
import type { NewEvent } from "../../usage_store/port.ts";

// Written by hand: these rules need the clock, the subscription and the metadata's size, and the response must name
// every broken event, which a schema's union can't. Decision 0020.

/** A broken rule: `position` counts from 0; `field` is empty where the event itself is wrong. */
export interface Problem {
  position: number;
  field: string;
  message: string;
}

/** The facts and bounds that events are validated against. */
export interface ReadOptions {
  company_id: number;
  now_ms: number;
  /** Where the company's usage begins: earlier usage is closed. 0: nowhere. */
  since_ms: number;
  /** By external id, at least those that `externalIdsOf` named. */
  subscriptions: ReadonlyMap<string, MeteredSubscription>;
  /** Whether a usage may be text, as in files. */
  usage_as_text: boolean;
  /** Reading stops at more problems than this; one more is kept, to show that there are more. */
  max_problems: number;
}

/** The valid events with their positions, and the problems of the others. */
export interface ReadEvents {
  events: NewEvent[];
  positions: number[];
  problems: Problem[];
}

const FIELDS = ["id", "external_subscription_id", "subscription_id", "timestamp", "usage", "metadata"];
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The escape that JSON.stringify writes for NUL. */
const NUL = /(?<!\\)(?:\\\\)*\\u0000/;

/** The distinct external ids of the events; impossible ones are left out. */
export function externalIdsOf(company_id: number, raws: readonly unknown[]): string[] {
  const ids = new Set<string>();
  for (const raw of raws) {
    const id = isObject(raw) ? externalIdIn(company_id, raw) : undefined;
    if (id === undefined || ids.has(id) || id.length > SHARED_LIMITS.external_id_length) continue;
    // Ill-formed text names nothing, and the database would refuse it.
    if (!id.includes("\0") && id.isWellFormed()) ids.add(id);
  }
  return [...ids];
}

/** Validates events one by one: a broken one does not affect the others. */
export function readEvents(raws: readonly unknown[], reading: ReadOptions): ReadEvents {
  const read: ReadEvents = { events: [], positions: [], problems: [] };
  const reader = new EventReader(reading, read.problems);
  let position = 0;
  for (const raw of raws) {
    const event = reader.read(raw, position);
    if (event) {
      read.events.push(event);
      read.positions.push(position);
    } else if (read.problems.length > reading.max_problems) break;
    position++;
  }
  return read;
}

/** Validates events; their problems are added to `problems`. */
class EventReader {
  readonly #reading: ReadOptions;
  readonly #problems: Problem[];
  /** Of the event that is read. */
  #position = 0;

  constructor(reading: ReadOptions, problems: Problem[]) {
    this.#reading = reading;
    this.#problems = problems;
  }

  read(raw: unknown, position: number): NewEvent | undefined {
    this.#position = position;
    if (!isObject(raw)) return this.#refuse("", "must be an object");
    const before = this.#problems.length;
    for (const field in raw) {
      if (FIELDS.includes(field) || !Object.hasOwn(raw, field)) continue;
      // There may be thousands.
      if (this.#problems.length > this.#reading.max_problems) return undefined;
      this.#refuse(field, `is not a known field; known are ${FIELDS.join(", ")}`);
    }
    const id = this.#id(raw.id);
    const subscription = this.#subscription(raw);
    const timestamp = this.#timestamp(raw.timestamp);
    const usage = this.#usage(raw.usage);
    const metadata = this.#metadata(raw.metadata);
    const outside = timestamp === undefined ? undefined : outsideLife(timestamp, subscription);
    // With an id, and nothing else wrong, it may be a repeat: only the store knows (decision 0021).
    if (outside !== undefined && (raw.id === undefined || this.#problems.length > before)) {
      this.#refuse("timestamp", outside);
    }
    // A field is undefined only where its problem was added, which the compiler can't know.
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
      return this.#refuse("subscription_id", "must be left out when external_subscription_id is given");
    }
    if (external === undefined && composite === undefined) {
      return this.#refuse("external_subscription_id", "is required, unless subscription_id is given");
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
      return this.#refuse("timestamp", `must be at most an hour in the future; the time is ${at(now_ms)}`);
    }
    const closed = closedProblem(timestamp, this.#reading.since_ms);
    if (closed !== undefined) return this.#refuse("timestamp", closed);
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

  /** Null for none and for an empty object, which are the same content; undefined when refused. */
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

/** Metadata in canonical form, null for an empty object, or its problem. */
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
    // A UTF-16 code unit takes at most three bytes.
    const too_long =
      json.length * 3 > LIMITS.usage_metadata_bytes && Buffer.byteLength(json) > LIMITS.usage_metadata_bytes;
    return too_long ? refuse(`must be at most ${LIMITS.usage_metadata_bytes} bytes of JSON`) : { json };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return refuse(error.message.replace(/^Cannot store metadata: it/, "must not be stored: it"));
  }
}

/** The problem of an instant outside of the subscription's life. */
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

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function at(ms: number): string {
  return iso(Temporal.Instant.fromEpochMilliseconds(ms));
}
