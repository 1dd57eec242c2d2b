import { AppError } from "../../../core/errors.ts";

/** JSON text that `canonicalJson` wrote. Only such text is stored, so that every engine can read it back. */
export type CanonicalJson = string & { readonly canonical: unique symbol };

/** Deeper nesting than this is refused: readers of JSON recurse. */
const MAX_DEPTH = 100;

/** An escape that JSON.stringify writes only for half of a surrogate pair: not text, engines refuse it. */
const LONE_SURROGATE = /(?<!\\)(?:\\\\)*\\ud[89a-f][0-9a-f]{2}/;

/**
 * Writes a JSON object the one way it is stored and compared: keys sorted by code unit at every depth, no
 * white space, values as JSON.stringify writes them. `object` must hold JSON values only.
 * Errors: invalid when it is nested over 100 deep, or holds half of a surrogate pair.
 */
export function canonicalJson(object: Readonly<Record<string, unknown>>): CanonicalJson {
  const text = write(object, 1);
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

function write(value: unknown, depth: number): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (depth > MAX_DEPTH) {
    throw new AppError("invalid", `Cannot store metadata: it is nested over ${MAX_DEPTH} deep`);
  }
  if (Array.isArray(value)) return `[${value.map((item) => write(item, depth + 1)).join(",")}]`;
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, item]) => `${JSON.stringify(key)}:${write(item, depth + 1)}`).join(",")}}`;
}
