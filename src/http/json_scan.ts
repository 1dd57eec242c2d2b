import { invalid, pointerPart } from "../core/errors.ts";
import { SHARED_LIMITS } from "../core/limits.ts";

/** Bounds of a JSON text. */
export interface JsonBounds {
  /** Nested arrays and objects. */
  depth: number;
  /** Entries of one array, and members of one object. */
  members: number;
  /** Values in all. */
  values: number;
  /** Bytes of one string or key. */
  text_bytes: number;
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

/** What a scan finds in a JSON text. */
interface Scan {
  values: number;
  /** Whether a number has an exponent of three digits or more. */
  has_exponent: boolean;
}

/**
 * Checks the bounds of a JSON text in one pass before it is parsed, so that a body that is too deep or too large costs
 * neither parsing nor checks. Errors: invalid, with the path of the array or object that is too large.
 */
export function scanJson(bytes: Uint8Array, bounds: JsonBounds): Scan {
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
      // To the end of the string: most bytes are in strings.
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
      // Too many closing brackets are reported by the parser.
      const before = (members[depth] ?? 0) + 1;
      members[depth] = before;
      if (before >= bounds.members) throw tooMany(open.pathOf(depth), bounds);
      if (keys[depth] !== IN_ARRAY) keys[depth] = NO_KEY;
    }
    if (values > bounds.values) throw invalid("", `must hold at most ${bounds.values} values in all`);
  }
  return { values, has_exponent };
}

/** Whether three digits begin at an offset. */
function hasDigits(bytes: Uint8Array, at: number): boolean {
  return [at, at + 1, at + 2].every((i) => (bytes[i] ?? 0) >= 0x30 && (bytes[i] ?? 0) <= 0x39);
}

const tooLong = (path: string, { text_bytes }: JsonBounds) =>
  invalid(path, `must be at most ${text_bytes} bytes long`);
const tooMany = (path: string, { members }: JsonBounds) =>
  invalid(path, `must have at most ${members} entries`);

/** In place of a key's offset: not read yet, or an array. */
const NO_KEY = 0;
const IN_ARRAY = -1;

/** The arrays and objects that are open at one point of a scan, outermost first from 1. */
class OpenContainers {
  readonly #bytes: Uint8Array;
  /** The index of the member that is being read, by depth. */
  readonly members: Int32Array;
  /** The offset of that member's key. */
  readonly keys: Int32Array;

  constructor(bytes: Uint8Array, max_depth: number) {
    this.#bytes = bytes;
    this.members = new Int32Array(max_depth + 1);
    this.keys = new Int32Array(max_depth + 1);
  }

  /** The JSON pointer of the container at a depth. */
  pathOf(depth: number): string {
    let path = "";
    for (let level = 1; level < depth; level++) path += this.#partAt(level);
    return path;
  }

  /** The JSON pointer of the member being read; while its key is read, of the object. */
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

/** The text of a JSON string; of an invalid one, its characters. */
function unquote(json: string): string {
  try {
    return String(JSON.parse(json));
  } catch {
    return json.slice(1, -1);
  }
}
