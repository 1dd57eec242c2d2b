import { isZero, subtract, toBig } from "../core/money.ts";
import type { MeterFilter, MeterTerm, MeterTerms } from "./meter.ts";
import { metadataKeyOf } from "./port.ts";

// What a meter reads of an event, outside of any engine: exactly what the engines' own statements read (decision 0230).

/** A value of at most six decimals, in millionths: a number where that is exact, which is several times faster. */
export type Millionths = number | bigint;

/** The metadata of an event; null for none. */
export type MetadataObject = Readonly<Record<string, unknown>> | null;

/** An exact sum. */
export function addExactly(a: Millionths, b: Millionths): Millionths {
  if (typeof a === "number" && typeof b === "number" && Number.isSafeInteger(a + b)) return a + b;
  return narrow(BigInt(a) + BigInt(b));
}

/** As a number where that is exact. */
export function narrow(value: bigint): Millionths {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

const MILLION = 1_000_000n;

/** numerator / denominator (above zero) to a whole number, half away from zero. */
export function divideExactly(numerator: bigint, denominator: bigint): bigint {
  const size = numerator < 0n ? -numerator : numerator;
  const rounded = (2n * size + denominator) / (2n * denominator);
  return numerator < 0n ? -rounded : rounded;
}

/** The metadata keys that a meter reads of an event. */
export function metadataKeysOf({
  value,
  filters,
  group_keys,
}: Pick<MeterTerms, "value" | "filters"> & { readonly group_keys: readonly string[] }): string[] {
  const terms = value.flatMap(({ key }) => metadataKeyOf(key) ?? []);
  return [...new Set([...terms, ...filters.map(({ key }) => key), ...group_keys])];
}

/** Reads events for a meter, and the group of each by a metadata key. */
export class MeterReader {
  /** Whether it needs the metadata of events. */
  readonly reads_metadata: boolean;
  readonly #filters: readonly ((object: MetadataObject) => boolean)[];
  readonly #per: Place | undefined;
  readonly #value: (usage: Millionths, object: MetadataObject) => Millionths | null;
  readonly #text: Place | undefined;

  constructor({ aggregation, value, filters }: MeterTerms, per: string | null) {
    this.#filters = filters.map(conditionOf);
    this.#per = per === null ? undefined : placeOf(per);
    this.#text = aggregation === "unique" ? placeOf(metadataKeyOf(value[0]?.key ?? "") ?? "") : undefined;
    this.#value = aggregation === "count" ? () => 1_000_000 : sumOf(value);
    this.reads_metadata =
      filters.length > 0 ||
      per !== null ||
      aggregation === "unique" ||
      (aggregation !== "count" && value.some(({ key }) => key !== "usage"));
  }

  /** Whether the event meets every filter. */
  passes(object: MetadataObject): boolean {
    return this.#filters.every((holds) => holds(object));
  }

  /** The text of the key that groups are by, null for none. */
  groupOf(object: MetadataObject): string | null {
    return this.#per === undefined ? null : textOf(look(object, this.#per));
  }

  /** The value that the meter reads, null for none: such an event is skipped. Of `unique` see `textOf`. */
  valueOf(usage: Millionths, object: MetadataObject): Millionths | null {
    return this.#value(usage, object);
  }

  /** The text that `unique` counts, null for none. */
  textOf(object: MetadataObject): string | null {
    return this.#text === undefined ? null : textOf(look(object, this.#text));
  }
}

/** Where a key is looked up: whole, then as a path. */
export interface Place {
  key: string;
  path: readonly string[] | undefined;
}

/** The place of a metadata key. */
export function placeOf(key: string): Place {
  return { key, path: key.includes(".") ? key.split(".") : undefined };
}

/** The part of a path that may be the index of an array element. */
const INDEX = /^(?:0|[1-9][0-9]*)$/;

/** The value at a place; undefined for none. */
export function look(object: MetadataObject, { key, path }: Place): unknown {
  if (object === null) return undefined;
  if (Object.hasOwn(object, key)) return object[key];
  if (path === undefined) return undefined;
  let found: unknown = object;
  for (const part of path) {
    if (typeof found !== "object" || found === null) return undefined;
    if (Array.isArray(found) ? !INDEX.test(part) : !Object.hasOwn(found, part)) return undefined;
    found = (found as Record<string, unknown>)[part];
  }
  return found;
}

/** Whether the metadata of an event meets a filter. */
export function conditionOf({ key, op, values }: MeterFilter): (object: MetadataObject) => boolean {
  const place = placeOf(key);
  if (op === "exists") return (object) => textOf(look(object, place)) !== null;
  if (op === "missing") return (object) => textOf(look(object, place)) === null;
  const wanted = values.map((value) => ({ value, number: numberText(value) }));
  const isIn = (object: MetadataObject): boolean => {
    const found = look(object, place);
    return wanted.some(({ value, number }) =>
      typeof found === "number" ? found === number : isScalar(found) && String(found) === value,
    );
  };
  return op === "in" ? isIn : (object) => !isIn(object);
}

/** Whether it is a string, a boolean or null. */
function isScalar(found: unknown): boolean {
  return typeof found === "string" || typeof found === "boolean" || found === null;
}

/** The number of a text that JSON.stringify gives a number; undefined for other text. */
function numberText(text: string): number | undefined {
  const number = Number(text);
  return Number.isFinite(number) && JSON.stringify(number) === text ? number : undefined;
}

/** The digits after the point to which numbers are read, and the size that texts of them stay under. */
const DIGITS = 12;
const MAX_TEXT = "1e26";

/** A string itself, a boolean's name, the plain decimal of a number; null of anything else. */
export function textOf(found: unknown): string | null {
  if (typeof found === "string") return found;
  if (typeof found === "boolean") return String(found);
  if (typeof found !== "number") return null;
  if (Number.isSafeInteger(found)) return String(found);
  const number = toBig(found).round(DIGITS);
  if (number.abs().gte(MAX_TEXT)) return null;
  return number.eq("0") ? "0" : number.toFixed();
}

/** What a string must be to count as a number. */
const NUMBER = /^-?[0-9]+(?:\.[0-9]+)?$/;

/** Numbers that are read are under 1e12 in size, and so are values. */
const MAX_TRILLIONTHS = 10n ** 24n;
const MAX_MILLIONTHS = 10n ** 18n;

/** The number at some JSON in units of 1e-12; null for none. */
function trillionthsOf(found: unknown): bigint | null {
  if (typeof found !== "number" && !(typeof found === "string" && NUMBER.test(found))) return null;
  const text = String(found);
  const scaled = text.includes("e") || text.length > 40 ? byBig(text) : byDigits(text);
  return scaled < MAX_TRILLIONTHS && scaled > -MAX_TRILLIONTHS ? scaled : null;
}

function byBig(text: string): bigint {
  return BigInt(toBig(text).round(DIGITS).times(`1e${DIGITS}`).toFixed());
}

function byDigits(text: string): bigint {
  const point = text.indexOf(".");
  if (point < 0) return BigInt(text) * 10n ** 12n;
  const fraction = text.slice(point + 1);
  if (fraction.length > DIGITS) return byBig(text);
  return BigInt(text.slice(0, point) + fraction.padEnd(DIGITS, "0"));
}

/** A term, ready to be read. */
interface Reading {
  /** Undefined for the usage. */
  place: Place | undefined;
  /** The factor in millionths; and as it is, if it is a whole number. */
  times: bigint;
  whole: number | undefined;
}

function readingOf({ key, times }: MeterTerm): Reading {
  const metadata_key = metadataKeyOf(key);
  const number = Number(times);
  return {
    place: metadata_key === undefined ? undefined : placeOf(metadata_key),
    times: BigInt(toBig(times).times("1000000").toFixed(0)),
    whole: Number.isInteger(number) ? number : undefined,
  };
}

/** Reads the sum of terms, half away from zero to six decimals; null where a number is missing, or it is too large. */
function sumOf(
  terms: readonly MeterTerm[],
): (usage: Millionths, object: MetadataObject) => Millionths | null {
  const [only] = terms;
  if (terms.length === 1 && only?.key === "usage" && isZero(subtract(only.times, "1")))
    return (usage) => usage;
  const readings = terms.map(readingOf);
  return (usage, object) => {
    const quick = quickSum(readings, usage, object);
    return quick === undefined ? exactSum(readings, usage, object) : quick;
  };
}

/** The sum where whole numbers lead to it within 2^53, as is usual; undefined elsewhere, null where a number is missing. */
function quickSum(
  readings: readonly Reading[],
  usage: Millionths,
  object: MetadataObject,
): number | null | undefined {
  let total = 0;
  for (const { place, whole } of readings) {
    if (whole === undefined) return undefined;
    const found = place === undefined ? usage : look(object, place);
    if (found === undefined) return null;
    if (typeof found !== "number") return undefined;
    if (place !== undefined && !Number.isInteger(found)) return undefined;
    const number = place === undefined ? found : found * 1e6;
    total += number * whole;
    if (!Number.isSafeInteger(number) || !Number.isSafeInteger(total)) return undefined;
  }
  return total;
}

function exactSum(
  readings: readonly Reading[],
  usage: Millionths,
  object: MetadataObject,
): Millionths | null {
  let total = 0n;
  for (const { place, times } of readings) {
    const number = place === undefined ? BigInt(usage) * MILLION : trillionthsOf(look(object, place));
    if (number === null) return null;
    total += number * times;
  }
  const value = divideExactly(total, 10n ** 12n);
  return value < MAX_MILLIONTHS && value > -MAX_MILLIONTHS ? narrow(value) : null;
}
