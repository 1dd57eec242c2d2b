import { AppError, invalid, pointerPart } from "../core/errors.ts";
import { SHARED_LIMITS } from "../core/limits.ts";
import { LIMITS } from "./limits.ts";

/** What a JSON text may hold. */
export interface JsonBounds {
  /** Levels of arrays and objects within one another. */
  depth: number;
  /** Entries of one array, and members of one object. */
  members: number;
  /** Values in all. */
  values: number;
  /** Bytes of one text, or of a key. */
  text_bytes: number;
}

/** Metadata may nest 100 levels, inside an event of a batch. */
const COMMON = {
  depth: LIMITS.body_depth,
  members: LIMITS.body_members,
  text_bytes: LIMITS.body_text_bytes,
};

/** What an ordinary request may hold, and one that brings a batch of events. */
export const REQUEST_JSON: JsonBounds = { ...COMMON, values: LIMITS.body_values };
export const EVENTS_JSON: JsonBounds = { ...COMMON, values: LIMITS.usage_values };

/** A JSON text that was read, and how many values it held. */
export interface ParsedJson {
  value: unknown;
  values: number;
}

/** Parses the bytes of a JSON text; messages call it `noun`. Errors: malformed, invalid. */
export function parseJson(bytes: Uint8Array, noun: string, bounds: JsonBounds): ParsedJson {
  const { values, has_exponent } = scan(bytes, bounds);
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
 * NUL and halves of surrogate pairs can stand in JSON only as escapes, a number that is too large only with an
 * exponent of three digits, which is looked for elsewhere, or with two hundred digits before a shorter one.
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

const [
  QUOTE,
  BACKSLASH,
  OPEN_BRACKET,
  OPEN_BRACE,
  CLOSE_BRACKET,
  CLOSE_BRACE,
  COMMA,
  COLON,
  LOW_E,
  HIGH_E,
  PLUS,
] = Buffer.from('"\\[{]},:eE+');

/** What shows of a JSON text before it is parsed. */
interface Scan {
  values: number;
  /** Whether a number has an exponent of three digits or more. */
  has_exponent: boolean;
}

/**
 * Looks through a JSON text that is not parsed yet: what is nested too deep or holds too much is refused
 * before anything that takes long over it (the parser, checks, messages) gets to see it. Errors: invalid, at the
 * array or object that is too large.
 */
function scan(bytes: Uint8Array, bounds: JsonBounds): Scan {
  const open = new OpenContainers(bytes, bounds.depth);
  const { members, keys } = open;
  let depth = 0;
  let last_text = 0;
  let values = 0;
  let has_exponent = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === QUOTE) {
      last_text = i;
      // To the end of the string, which most of the bytes are in.
      for (i++; i < bytes.length && bytes[i] !== QUOTE; i++) if (bytes[i] === BACKSLASH) i++;
      if (i - last_text > bounds.text_bytes) throw tooLong(open.pathOfMember(depth), bounds);
    } else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
      if (++depth > bounds.depth) throw invalid("", `must be at most ${bounds.depth} levels deep`);
      members[depth] = 0;
      keys[depth] = byte === OPEN_BRACE ? NO_KEY : IN_ARRAY;
      values++;
    } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) {
      depth--;
    } else if (byte === COLON) {
      keys[depth] = last_text;
    } else if (byte === LOW_E || byte === HIGH_E) {
      has_exponent ||= hasDigits(bytes, bytes[i + 1] === PLUS ? i + 2 : i + 1);
    } else if (byte === COMMA) {
      values++;
      // What closes more than it opens is no JSON, as the parser tells.
      const before = (members[depth] ?? 0) + 1;
      members[depth] = before;
      if (before >= bounds.members) throw tooMany(open.pathOf(depth), bounds);
      if (keys[depth] !== IN_ARRAY) keys[depth] = NO_KEY;
    }
    if (values > bounds.values) throw invalid("", `must hold at most ${bounds.values} values in all`);
  }
  return { values, has_exponent };
}

/** Whether three digits stand there. */
function hasDigits(bytes: Uint8Array, at: number): boolean {
  return [at, at + 1, at + 2].every((i) => (bytes[i] ?? 0) >= 0x30 && (bytes[i] ?? 0) <= 0x39);
}

const tooLong = (path: string, { text_bytes }: JsonBounds) =>
  invalid(path, `must be at most ${text_bytes} bytes long`);
const tooMany = (path: string, { members }: JsonBounds) =>
  invalid(path, `must have at most ${members} entries`);

/** In place of where a key begins: none was read yet, or there are none in an array. */
const NO_KEY = 0;
const IN_ARRAY = -1;

/** The arrays and objects that are open at a place in a JSON text, outermost first from 1. */
class OpenContainers {
  readonly #bytes: Uint8Array;
  /** How many members came before the one that is read. */
  readonly members: Int32Array;
  /** Where that member's key begins. */
  readonly keys: Int32Array;

  constructor(bytes: Uint8Array, max_depth: number) {
    this.#bytes = bytes;
    this.members = new Int32Array(max_depth + 1);
    this.keys = new Int32Array(max_depth + 1);
  }

  /** The path of the container that is so deep, a JSON pointer. */
  pathOf(depth: number): string {
    let path = "";
    for (let level = 1; level < depth; level++) path += this.#partAt(level);
    return path;
  }

  /** The path of the member that is read in it; of a key, that of its object. */
  pathOfMember(depth: number): string {
    return this.pathOf(depth) + (depth > 0 && this.keys[depth] !== NO_KEY ? this.#partAt(depth) : "");
  }

  #partAt(level: number): string {
    const start = this.keys[level] ?? IN_ARRAY;
    return `/${start === IN_ARRAY ? this.members[level] : pointerPart(this.#keyAt(start))}`;
  }

  #keyAt(start: number): string {
    const bytes = this.#bytes;
    let end = start + 1;
    while (end < bytes.length && bytes[end] !== QUOTE) end += bytes[end] === BACKSLASH ? 2 : 1;
    const key = Buffer.from(bytes.subarray(start, end + 1)).toString();
    return unquote(key).slice(0, SHARED_LIMITS.name_length).toWellFormed();
  }
}

/** The text that a JSON string stands for; of what is none, its letters. */
function unquote(json: string): string {
  try {
    return String(JSON.parse(json));
  } catch {
    return json.slice(1, -1);
  }
}

/** Refuses NUL in a query, as in a body. Errors: invalid. */
export function assertNoNul(url: string): void {
  if (url.includes("%00")) assertStorable(Object.fromEntries(new URL(url).searchParams), "");
}

/** Refuses what is stored by one database and not, or changed, by another. Errors: invalid. */
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
    // A bad key has no path that could be written down: its object is named.
    assertStorable(key, path);
    assertStorable(member, `${path}/${pointerPart(key)}`);
  }
}
