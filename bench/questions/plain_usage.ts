import { makeEvent } from "../events.ts";
import type { Manifest } from "./company.ts";
import { type PlainLine, Sums } from "./sums.ts";

/** The metadata keys with few values. */
const METADATA_FIELDS = ["metadata:path", "metadata:region", "metadata:status"] as const;

/** A field as a column: a code for each event, and the keys that the codes stand for, as answers have them. */
interface Column {
  codes: ArrayLike<number>;
  keys: readonly string[];
}

/** Which events, and what is measured of them: a question as plain code takes it. */
export interface PlainQuestion {
  /** Unix ms, ascending. */
  edges: readonly number[];
  fields: readonly string[];
  filters: readonly { field: string; holds: (key: string) => boolean }[];
  min_millionths?: number | undefined;
  measure: string;
}

/** What a loop over all events finds. */
export interface PlainAnswer {
  total: PlainLine;
  groups: PlainLine[];
  /** The line of all groups but some. */
  others(named: readonly (readonly string[])[]): PlainLine;
}

/** When the event of a number was: they are spread evenly, in the order of their numbers. */
export function timestampOf({ from_ms, until_ms, events }: Manifest, i: number): number {
  return from_ms + Math.floor(((until_ms - from_ms) * (i + 0.5)) / events);
}

/** The events of a company in arrays, and loops over all of them: the model that answers are held to. */
export class PlainUsage {
  readonly #timestamps: Float64Array;
  readonly #subscriptions: Uint16Array;
  readonly #millionths: Float64Array;
  readonly #columns = new Map<string, Column>();
  readonly #manifest: Manifest;

  constructor(manifest: Manifest) {
    const { events: count } = manifest;
    this.#manifest = manifest;
    this.#timestamps = new Float64Array(count);
    this.#subscriptions = new Uint16Array(count);
    this.#millionths = new Float64Array(count);
    const places = new Map(manifest.subscriptions.map((one, i) => [one.external_subscription_id, i]));
    const metadata = METADATA_FIELDS.map((field) => ({
      name: field.slice("metadata:".length),
      codes: new Uint8Array(count),
      keys: new Map<string, number>(),
    }));
    for (let i = 0; i < count; i++) {
      const event = makeEvent(manifest.subscriptions, i, timestampOf(manifest, i));
      this.#timestamps[i] = event.timestamp;
      this.#subscriptions[i] = places.get(event.external_subscription_id) ?? 0;
      this.#millionths[i] = Math.round(event.usage * 1e6);
      for (const { name, codes, keys } of metadata) {
        const key = String(event.metadata[name]);
        const code = keys.get(key) ?? keys.size;
        keys.set(key, code);
        codes[i] = code;
      }
    }
    for (const [i, { codes, keys }] of metadata.entries())
      this.#columns.set(METADATA_FIELDS[i] ?? "", { codes, keys: [...keys.keys()] });
  }

  ask({ edges, fields, filters, min_millionths, measure }: PlainQuestion): PlainAnswer {
    const allowed = filters.map(({ field, holds }) => {
      const { codes, keys } = this.#column(field);
      return { codes, is_allowed: Uint8Array.from(keys, (key) => Number(holds(key))) };
    });
    const columns = fields.map((field) => this.#column(field));
    const places = columns.reduce((all, { keys }) => all * keys.length, 1);
    const sums = new Sums(places, edges.length - 1, measure, this.#manifest.subscriptions.length);
    const [start = 0, end = 0] = [edges[0], edges.at(-1)];
    for (let i = 0, bucket = 0; i < this.#timestamps.length; i++) {
      const at = this.#timestamps[i] ?? 0;
      const millionths = this.#millionths[i] ?? 0;
      if (at < start || at >= end) continue;
      // Events are in the order of time.
      while (at >= (edges[bucket + 1] ?? end)) bucket++;
      if (min_millionths !== undefined && millionths < min_millionths) continue;
      if (!allowed.every(({ codes, is_allowed }) => is_allowed[codes[i] ?? 0] === 1)) continue;
      let place = 0;
      for (const { codes, keys } of columns) place = place * keys.length + (codes[i] ?? 0);
      sums.add(place, bucket, millionths, this.#subscriptions[i] ?? 0);
    }
    const found = Array.from({ length: places }, (_, place) => place).filter((place) => sums.has(place));
    const keysAt = new Map(found.map((place) => [place, keysOf(columns, place)]));
    return {
      total: sums.line(found, []),
      groups: fields.length === 0 ? [] : found.map((place) => sums.line([place], keysAt.get(place) ?? [])),
      others(named) {
        const texts = new Set(named.map((keys) => keys.join("\n")));
        return sums.line(
          found.filter((place) => !texts.has((keysAt.get(place) ?? []).join("\n"))),
          [],
        );
      },
    };
  }

  #column(field: string): Column {
    const known = this.#columns.get(field);
    if (known) return known;
    const { subscriptions, company_id } = this.#manifest;
    const keys = subscriptions.map((one) => {
      if (field === "subscription") return `${company_id}:${one.external_subscription_id}`;
      if (field === "client" || field === "product" || field === "billing_model")
        return String(one[`${field}_id`]);
      throw new Error(`Cannot ask by ${field}`);
    });
    const distinct = [...new Set(keys)];
    const code_of = Uint16Array.from(keys, (key) => distinct.indexOf(key));
    const column = {
      codes: Uint16Array.from(this.#subscriptions, (place) => code_of[place] ?? 0),
      keys: distinct,
    };
    this.#columns.set(field, column);
    return column;
  }
}

function keysOf(columns: readonly Column[], place: number): string[] {
  let rest = place;
  return columns
    .toReversed()
    .map(({ keys }) => {
      const key = keys[rest % keys.length] ?? "";
      rest = Math.floor(rest / keys.length);
      return key;
    })
    .toReversed();
}
