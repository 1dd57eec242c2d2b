import { type Decimal, quotient, toBig } from "../../core/money.ts";
import { tooManyGroups } from "../aggregate_rows.ts";
import { digestOf, NO_DIGEST } from "../digest.ts";
import { parseMetadata } from "../metadata.ts";
import {
  type Measured,
  type MeasureQuery,
  type MeterTerms,
  type MeterUse,
  type MeterWindow,
  readFrom,
  useOf,
} from "../meter.ts";
import {
  addExactly,
  conditionOf,
  look,
  type MetadataObject,
  MeterReader,
  type Millionths,
  placeOf,
  textOf,
} from "../meter_reader.ts";

/** An event, as meters read it. */
export interface MeasuredEvent {
  readonly subscription_id: number;
  readonly timestamp: number;
  readonly id: string;
  readonly usage: Millionths;
  /** Canonical JSON text, or null. */
  readonly metadata: string | null;
}

/** Measures windows by events that are given one by one, in no order: what `UsageStore.measure` answers. */
export class Measuring {
  readonly #wanted: MeasureQuery;
  readonly #windows: readonly MeasuredWindow[];
  readonly #by_subscription: Map<number, MeasuredWindow[]>;
  #parts = 0;

  constructor(wanted: MeasureQuery) {
    this.#wanted = wanted;
    const uses = wanted.uses.map((use) => new UseReader(use));
    this.#windows = wanted.windows.map((window) => {
      const reader = uses[window.use];
      // Throws where the query has no such use.
      const from_ms = readFrom(useOf(wanted, window).meter, window);
      if (reader === undefined) throw new RangeError(`Cannot measure use ${window.use}`);
      return { window, reader, from_ms, parts: new Map<string, Part>() };
    });
    this.#by_subscription = Map.groupBy(this.#windows, ({ window }) => window.subscription_id);
  }

  /** Errors: invalid when there are too many parts. */
  add(event: MeasuredEvent): void {
    let object: MetadataObject | undefined;
    for (const { window, reader, from_ms, parts } of this.#by_subscription.get(event.subscription_id) ?? []) {
      if (event.timestamp < from_ms || event.timestamp >= window.end_ms) continue;
      object ??= event.metadata === null ? {} : parseMetadata(event.metadata);
      if (!reader.holds(event.usage, object)) continue;
      const name = reader.partOf(object);
      let part = parts.get(name);
      if (part === undefined) {
        if (++this.#parts > this.#wanted.max_parts) throw tooManyGroups(this.#wanted.max_parts);
        part = new Part(reader.meter, this.#wanted.without_digests === true);
        parts.set(name, part);
      }
      part.add(event, reader.read(event.usage, object), window);
    }
  }

  /** The parts of each window, in no order. */
  results(): Measured[][] {
    return this.#windows.map(({ window, parts }) =>
      [...parts].map(([name, part]) => ({ part: JSON.parse(name), ...part.measured(window) })),
    );
  }
}

interface MeasuredWindow {
  window: MeterWindow;
  reader: UseReader;
  from_ms: number;
  /** By their names as JSON. */
  parts: Map<string, Part>;
}

/** What a meter reads of an event: a number, or the text that `unique` counts; null for none. */
type Read = Millionths | string | null;

/** Reads events by a meter, and finds their parts. */
class UseReader {
  readonly meter: MeterTerms;
  readonly #reader: MeterReader;
  readonly #except: readonly UseReader[];
  readonly partOf: (object: MetadataObject) => string;

  constructor({ meter, parts, except = [] }: MeterUse) {
    this.meter = meter;
    this.#reader = new MeterReader(meter, null);
    this.#except = except.map((other) => new UseReader({ meter: other, parts: { matches: [] } }));
    this.partOf = partReader(parts);
  }

  /** Whether the event is one of the meter's. */
  holds(usage: Millionths, object: MetadataObject): boolean {
    return this.#reader.passes(object) && !this.#except.some((other) => other.#counts(usage, object));
  }

  #counts(usage: Millionths, object: MetadataObject): boolean {
    return this.#reader.passes(object) && this.read(usage, object) !== null;
  }

  read(usage: Millionths, object: MetadataObject): Read {
    if (this.meter.aggregation === "unique") return this.#reader.textOf(object);
    return this.#reader.valueOf(usage, object);
  }
}

function partReader(parts: MeterUse["parts"]): (object: MetadataObject) => string {
  if ("keys" in parts) {
    const places = parts.keys.map(placeOf);
    return (object) => JSON.stringify(places.map((place) => textOf(look(object, place))));
  }
  const matches = parts.matches.map((match) =>
    Object.entries(match).map(([key, value]) => conditionOf({ key, op: "in", values: [value] })),
  );
  return (object) => String(matches.findIndex((conditions) => conditions.every((holds) => holds(object))));
}

/** What the events of a part come to. */
class Part {
  readonly #meter: MeterTerms;
  readonly #digest: Digest | undefined;
  #events = 0;
  #skipped = 0;
  #corrections = 0;
  /** The sum, the smallest, the largest or the latest value; null while there is none. */
  #value: Millionths | null = null;
  /** Of `weighted_sum`: Σ value × ms that it lasted. */
  #area = 0n;
  #last: { timestamp: number; id: string } | undefined;
  readonly #texts = new Set<string>();
  readonly #values: Millionths[] = [];

  constructor(meter: MeterTerms, without_digests: boolean) {
    this.#meter = meter;
    this.#digest = without_digests ? undefined : new Digest();
  }

  add({ timestamp, id, usage }: MeasuredEvent, read: Read, { start_ms, end_ms }: MeterWindow): void {
    if (read === null) {
      this.#skipped++;
      return;
    }
    this.#events++;
    if (usage < 0) this.#corrections++;
    this.#digest?.add(`${id}|${timestamp}|${typeof read === "string" ? read : sixDecimals(read)}`);
    if (typeof read === "string") {
      this.#texts.add(read);
      return;
    }
    const { aggregation } = this.#meter;
    const before = this.#value;
    if (aggregation === "percentile") this.#values.push(read);
    else if (aggregation === "latest") this.#keepLatest(read, { timestamp, id });
    else if (aggregation === "weighted_sum")
      this.#area += BigInt(read) * BigInt(end_ms - Math.max(timestamp, start_ms));
    else if (before === null) this.#value = read;
    else if (aggregation === "min") this.#value = read < before ? read : before;
    else if (aggregation === "max") this.#value = read > before ? read : before;
    else this.#value = addExactly(before, read);
  }

  #keepLatest(read: Millionths, event: { timestamp: number; id: string }): void {
    const last = this.#last;
    const is_later =
      last === undefined ||
      event.timestamp > last.timestamp ||
      (event.timestamp === last.timestamp && event.id > last.id);
    if (!is_later) return;
    this.#last = event;
    this.#value = read;
  }

  measured({ whole_ms }: MeterWindow): Omit<Measured, "part"> {
    return {
      quantity: this.#quantity(whole_ms),
      event_count: this.#events,
      skipped_events: this.#skipped,
      corrections: this.#corrections,
      digest: this.#digest?.text ?? NO_DIGEST,
    };
  }

  #quantity(whole_ms: number): Decimal {
    const { aggregation, percentile } = this.#meter;
    if (aggregation === "unique") return String(this.#texts.size);
    if (this.#events === 0) return "0";
    if (aggregation === "weighted_sum") return quotient(decimalOf(this.#area), String(whole_ms), 6);
    if (aggregation === "percentile") return decimalOf(this.#ranked(percentile ?? "100"));
    const value = decimalOf(this.#value ?? 0);
    return aggregation === "average" ? quotient(value, String(this.#events), 6) : value;
  }

  /** The ⌈p/100 × n⌉-th smallest value. */
  #ranked(percentile: Decimal): Millionths {
    const sorted = this.#values.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    const millionths = BigInt(toBig(percentile).times("1000000").toFixed());
    const rank = (BigInt(sorted.length) * millionths + 99_999_999n) / 100_000_000n;
    return sorted[Number(rank) - 1] ?? 0;
  }
}

/** The digest of a set of texts; see `WindowTotal`. */
class Digest {
  #first = 0n;
  #second = 0n;

  add(text: string): void {
    const md5 = new Bun.CryptoHasher("md5").update(text).digest();
    this.#first += md5.readBigUInt64LE(0);
    this.#second += md5.readBigUInt64LE(8);
  }

  get text(): string {
    return digestOf(this.#first, this.#second);
  }
}

/** -500000 → `-0.500000`. */
function sixDecimals(millionths: Millionths): string {
  const digits = String(millionths).replace("-", "").padStart(7, "0");
  return `${millionths < 0 ? "-" : ""}${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

function decimalOf(millionths: Millionths): Decimal {
  return toBig(sixDecimals(millionths)).toFixed();
}
