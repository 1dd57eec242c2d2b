import { AppError, invalid, pointerPart } from "../core/errors.ts";
import { type JsonBounds, scanJson } from "./json_scan.ts";
import { LIMITS } from "./limits.ts";

/** Metadata may nest 100 levels, inside an event of a batch. */
const COMMON = {
  depth: LIMITS.body_depth,
  members: LIMITS.body_members,
  text_bytes: LIMITS.body_text_bytes,
};

/** Bounds of an ordinary request, and of one with a batch of events. */
export const REQUEST_JSON: JsonBounds = { ...COMMON, values: LIMITS.body_values };
export const EVENTS_JSON: JsonBounds = { ...COMMON, values: LIMITS.usage_values };

/** A parsed JSON text, and how many values it contains. */
export interface ParsedJson {
  value: unknown;
  values: number;
}

/** Parses the bytes of a JSON text; messages call it `noun`. Errors: malformed, invalid. */
export function parseJson(bytes: Uint8Array, noun: string, bounds: JsonBounds): ParsedJson {
  const { values, has_exponent } = scanJson(bytes, bounds);
  const text = decodeUtf8(bytes, noun);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^JSON Parse error: /, "") : "";
    throw new AppError("malformed", `${noun} is not JSON: ${reason}`);
  }
  if (has_exponent || mayBeUnstorable(text)) assertStorable(value, "");
  return { value, values };
}

/**
 * Whether a JSON text may hold a value that databases can't store. NUL and lone surrogates need an escape; a number
 * too large needs an exponent of three digits, which the scan finds, or two hundred digits before a shorter one.
 */
function mayBeUnstorable(text: string): boolean {
  return (text.includes("\\u") && /\\u(0000|d[89a-f])/i.test(text)) || /\d{200}/.test(text);
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

/** Errors: malformed. */
export function decodeUtf8(bytes: Uint8Array, noun: string): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new AppError("malformed", `${noun} is not UTF-8 text`);
  }
}

/** Rejects NUL in a query, as in a body. Errors: invalid. */
export function assertNoNul(url: string): void {
  if (url.includes("%00")) assertStorable(Object.fromEntries(new URL(url).searchParams), "");
}

/** Rejects values that some database can't store unchanged. Errors: invalid. */
export function assertStorable(value: unknown, path: string): void {
  if (typeof value === "string") {
    if (value.includes("\0")) throw invalid(path, "must not contain the NUL character");
    if (!value.isWellFormed()) throw invalid(path, "must not contain half of a surrogate pair");
  }
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) {
    throw invalid(path, "must be a number that a double can hold");
  }
  if (typeof value !== "object" || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    // A bad key can't be in a path: its object is named instead.
    assertStorable(key, path);
    assertStorable(member, `${path}/${pointerPart(key)}`);
  }
}
