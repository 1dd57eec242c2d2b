import { LIMITS } from "../limits.ts";
import { pointerPart } from "../../core/errors.ts";
import { invalidBody, type PlacedProblem, type SentEvents, withinBatch } from "./sent_events.ts";
import { isObject, type Problem, UUID } from "./validate_events.ts";

// CloudEvents 1.0 as its JSON format has them, in structured mode and in batches. Decision 0041.

/** JSON pointers into a CloudEvent, by the field of an event. */
const PLACES: Record<string, string> = {
  id: "/id",
  external_subscription_id: "/subject",
  timestamp: "/time",
  usage: "/data/usage",
  metadata: "/data/metadata",
};

const DATA_FIELDS = ["usage", "metadata"];
const ATTRIBUTE_NAME = /^[a-z0-9]+$/;
const JSON_TYPE = /^[^\s;/]+\/([^\s;/]+\+)?json *(;.*)?$/i;
const RFC_3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/i;

/**
 * Splits a body into events: one CloudEvent, or a batch, which may be empty.
 * Errors: invalid for another shape, too_large for too many.
 */
export function readCloudEvents(body: unknown, is_batch: boolean): SentEvents {
  if (Array.isArray(body) !== is_batch)
    throw invalidBody(
      "",
      is_batch ? "must be an array of CloudEvents" : "must be a CloudEvent, not an array",
    );
  const problems: PlacedProblem[] = [];
  const former_ids = new Map<number, string>();
  const single = !Array.isArray(body);
  const events = single ? [body] : withinBatch(body);
  const raws = events.map((event, position) => {
    const reader = new CloudEventReader(event, position, problems);
    const raw = reader.read();
    if (reader.former_id !== undefined) former_ids.set(position, reader.former_id);
    return raw;
  });
  return { raws, single, former_ids, locateProblems: (found) => merge(problems, found) };
}

/** Adds the problems by the rules of every event, except where one is located already. */
function merge(located: readonly PlacedProblem[], found: readonly Problem[]): PlacedProblem[] {
  const known = new Set(located.map(({ position, path }) => `${position}${path}`));
  // Unreadable data lacks a usage too: one problem is enough.
  const isKnown = (position: number, path: string) =>
    known.has(`${position}${path}`) ||
    (path.startsWith("/data/") && (known.has(`${position}/data`) || known.has(`${position}/data_base64`)));
  const rest = found
    .map(({ position, field, message }) => ({ position, path: PLACES[field] ?? "", message }))
    .filter(({ position, path }) => !isKnown(position, path));
  return [...located, ...rest].toSorted((a, b) => a.position - b.position);
}

/** Converts a CloudEvent to an event; its problems are added to `problems`. */
class CloudEventReader {
  readonly #sent: unknown;
  readonly #position: number;
  readonly #problems: PlacedProblem[];
  /** The id that an earlier release would have stored it under, where that differs. */
  former_id: string | undefined;

  constructor(sent: unknown, position: number, problems: PlacedProblem[]) {
    this.#sent = sent;
    this.#position = position;
    this.#problems = problems;
  }

  /** The event without its unreadable fields; anything but an object is returned as it is. */
  read(): unknown {
    const sent = this.#sent;
    if (!isObject(sent)) return sent;
    for (const name of Object.keys(sent)) {
      if (!ATTRIBUTE_NAME.test(name) && name !== "data_base64")
        this.#refuse(
          `/${pointerPart(name)}`,
          "is not an attribute: names have lower-case letters and digits only",
        );
    }
    if (sent.specversion !== "1.0") this.#refuse("/specversion", 'must be "1.0"');
    const [id, source] = [this.#text(sent, "id"), this.#text(sent, "source")];
    this.#text(sent, "type");
    const external_subscription_id = this.#text(sent, "subject");
    this.#contentType(sent.datacontenttype ?? undefined);
    const timestamp = this.#time(sent.time ?? undefined);
    const data = this.#data(sent);
    const named = id === undefined || source === undefined ? undefined : eventIds(source, id);
    this.former_id = named?.former_id;
    return {
      ...(named === undefined ? {} : { id: named.id }),
      ...(external_subscription_id === undefined ? {} : { external_subscription_id }),
      ...(timestamp === undefined ? {} : { timestamp }),
      ...data,
    };
  }

  #text(sent: Record<string, unknown>, name: string): string | undefined {
    // An attribute that is null counts as absent (JSON format, 2.2).
    const value = sent[name] ?? undefined;
    if (typeof value === "string" && value !== "") return value;
    return this.#refuse(`/${name}`, value === undefined ? "is required" : "must be a non-empty string");
  }

  #contentType(type: unknown): void {
    if (type === undefined || (typeof type === "string" && JSON_TYPE.test(type))) return;
    this.#refuse("/datacontenttype", "must be a JSON media type such as application/json");
  }

  /** In Unix ms, truncated. */
  #time(time: unknown): number | undefined {
    if (time === undefined) return undefined;
    const [, second, fraction = "", offset] = (typeof time === "string" && RFC_3339.exec(time)) || [];
    try {
      const instant = `${second}.${fraction.slice(0, 3).padEnd(3, "0")}${offset}`;
      const { epochMilliseconds } = Temporal.Instant.from(instant);
      if (epochMilliseconds >= 0) return epochMilliseconds;
      return this.#refuse("/time", "must not be before 1970");
    } catch {
      return this.#refuse("/time", "must be an RFC 3339 date-time such as 2026-11-21T13:00:00Z");
    }
  }

  #data({ data, data_base64 }: Record<string, unknown>): Record<string, unknown> | undefined {
    if (data_base64 !== undefined)
      return this.#refuse("/data_base64", "can't be read: send data, with usage and metadata");
    if (!isObject(data))
      return this.#refuse("/data", data === undefined ? "is required" : "must be an object with usage");
    for (const name of Object.keys(data)) {
      if (!DATA_FIELDS.includes(name))
        this.#refuse(
          `/data/${pointerPart(name)}`,
          `is not a known field; known are ${DATA_FIELDS.join(", ")}`,
        );
    }
    const { usage, metadata } = data;
    return { usage, metadata };
  }

  #refuse(path: string, message: string): undefined {
    // One more than is reported, so that the message can say that there are more.
    if (this.#problems.length > LIMITS.usage_problems) return;
    this.#problems.push({ position: this.#position, path, message });
  }
}

/** The namespace of the UUIDs of pairs that `source#id` would not distinguish. */
const PAIRS = Bun.randomUUIDv5("https://cloudevents.io/", "url");

/**
 * The event's id: a UUID as it is. Others are unique within their source only, and become a UUIDv5 of both: that of
 * `source#id` where neither contains a #, so that no two pairs collide. Decision 0041.
 */
function eventIds(source: string, id: string): { id: string; former_id?: string } {
  if (UUID.test(id)) return { id };
  const plain = Bun.randomUUIDv5(`${source}#${id}`, "url");
  if (!source.includes("#") && !id.includes("#")) return { id: plain };
  return { id: Bun.randomUUIDv5(JSON.stringify([source, id]), PAIRS), former_id: plain };
}
