import { AppError } from "../core/errors.ts";

/** Canonical JSON text. Only such text is stored, so that every engine can read it back. */
export type CanonicalJson = string & { readonly canonical: unique symbol };

/** The deepest nesting: JSON parsers recurse. */
const MAX_DEPTH = 100;

/** The escape of half of a surrogate pair, which engines refuse. */
const LONE_SURROGATE = /(?<!\\)(?:\\\\)*\\ud[89a-f][0-9a-f]{2}/;

/**
 * Canonical JSON, as it is stored and compared: keys sorted by code unit at every depth, no white space, values as by
 * JSON.stringify. `object` must contain JSON values only.
 * Errors: invalid when it is nested over 100 deep, or holds half of a surrogate pair or a number that is infinite.
 */
export function canonicalJson(object: Readonly<Record<string, unknown>>): CanonicalJson {
  const arranged = arrange(object, 1);
  const text = arranged === undefined ? write(object, 1) : JSON.stringify(arranged);
  if (isText(text)) return text;
  throw new AppError("invalid", "Cannot store metadata: it holds half of a surrogate pair, which is no text");
}

/** Reads what `canonicalJson` wrote. */
export function parseMetadata(text: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text);
  if (isRecord(value)) return value;
  throw new TypeError("Cannot read stored metadata: it is no JSON object");
}

function isText(json: string): json is CanonicalJson {
  return !(json.includes("\\ud") && LONE_SURROGATE.test(json));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Keys that an object may reorder or lose: numbers, and the prototype's. */
const ODD_KEY = /^(\d|__proto__$)/;

/**
 * The value with the keys of every object in order, so that JSON.stringify, several times faster, writes what `write`
 * would. Undefined for keys that an object does not keep in order.
 * Errors: invalid when it is nested too deep.
 */
function arrange(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null) return finite(value);
  refuseDepth(depth);
  if (Array.isArray(value)) {
    const items = value.map((item) => arrange(item, depth + 1));
    return items.includes(undefined) ? undefined : items;
  }
  const object = value as Record<string, unknown>;
  const keys = Object.keys(object);
  if (isFlatAndRising(object, keys)) return object;
  if (keys.some((key) => ODD_KEY.test(key))) return undefined;
  const arranged: Record<string, unknown> = {};
  for (const key of keys.toSorted()) {
    const member = arrange(object[key], depth + 1);
    if (member === undefined) return undefined;
    arranged[key] = member;
  }
  return arranged;
}

function isFlatAndRising(object: Record<string, unknown>, keys: readonly string[]): boolean {
  let before = "";
  for (const key of keys) {
    const value = object[key];
    if (key < before || (typeof value === "object" && value !== null)) return false;
    finite(value);
    before = key;
  }
  return true;
}

function refuseDepth(depth: number): void {
  if (depth <= MAX_DEPTH) return;
  throw new AppError("invalid", `Cannot store metadata: it is nested over ${MAX_DEPTH} deep`);
}

/** A finite scalar: 1e400 is parsed as infinite, which JSON.stringify would turn into null. Errors: invalid. */
function finite(value: unknown): unknown {
  if (typeof value !== "number" || Number.isFinite(value)) return value;
  throw new AppError("invalid", "Cannot store metadata: it holds a number that no double can hold");
}

function write(value: unknown, depth: number): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(finite(value)) ?? "null";
  refuseDepth(depth);
  if (Array.isArray(value)) return `[${value.map((item) => write(item, depth + 1)).join(",")}]`;
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, item]) => `${JSON.stringify(key)}:${write(item, depth + 1)}`).join(",")}}`;
}
