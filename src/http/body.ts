import { LIMITS } from "../core/limits.ts";
import { AppError, invalid, pointerPart } from "../core/errors.ts";

/**
 * The media type of a body, one of those allowed; the first where there is neither a body nor a type.
 * Errors: unsupported_media_type, which names those allowed.
 */
export function mediaTypeOf<const T extends string>(request: Request, allowed: readonly [T, ...T[]]): T {
  const told = request.headers.get("content-type");
  if (told === null && request.body === null) return allowed[0];
  const [type, ...parameters] = (told ?? "")
    .toLowerCase()
    .split(";")
    .map((part) => part.trim());
  const charset = parameters.find((parameter) => parameter.startsWith("charset="))?.slice(8);
  const found = allowed.find((one) => one === type);
  if (found !== undefined && /^("?utf-8"?)?$/.test(charset ?? "")) return found;
  const others = allowed.length > 1 ? `${allowed.slice(0, -1).join(", ")} or ` : "";
  throw new AppError(
    "unsupported_media_type",
    `Cannot read ${told ?? "a body without a type"}: send ${others}${allowed.at(-1)} in UTF-8`,
  );
}

/**
 * Reads a body as one JSON value, whatever its media type. Errors: too_large, unavailable, malformed (not
 * JSON, not UTF-8, or cut off), and invalid for what is nested too deep or holds text that not every database
 * can store. `look` sees the bytes before they are parsed.
 */
export async function readJson(
  request: Request,
  look: (bytes: Uint8Array) => void = () => undefined,
): Promise<unknown> {
  const told = Number(request.headers.get("content-length") ?? Number.NaN);
  // No body says as much as an empty object: the route's schema tells what is missing.
  if (!(told > 0) && request.body === null) return {};
  if (told > LIMITS.body_bytes) throw tooLarge();
  const room = new Room();
  try {
    // What does not tell its length is counted as the longest.
    room.hold(told <= LIMITS.body_bytes ? told : LIMITS.body_bytes);
    // What tells its length is read at once, which is much quicker than chunk by chunk.
    const bytes = await (told <= LIMITS.body_bytes ? request.bytes().catch(refuseCut) : readPieces(request));
    // Many clients name the type of what they send when they send nothing.
    if (bytes.length === 0) return {};
    look(bytes);
    return parseJson(bytes, "The body");
  } finally {
    room.release();
  }
}

/** Bytes of the bodies that are being read, all together. */
let under_way = 0;

/** What one request holds of the memory that there is for bodies. */
export class Room {
  #bytes = 0;

  /** Holds so many bytes from now on. Errors: unavailable when there is no room for more. */
  hold(bytes: number): void {
    const more = bytes - this.#bytes;
    if (more > 0 && under_way + more > LIMITS.bodies_bytes) {
      throw new AppError("unavailable", "Too many large bodies at once: try again", { retry_after_s: 1 });
    }
    under_way += more;
    this.#bytes = bytes;
  }

  release(): void {
    this.hold(0);
  }
}

/** Gathers bytes that come in pieces, however small; `end()` gives them as one array. */
export function gather(): { write(piece: Uint8Array): unknown; end(): Uint8Array } {
  const sink = new Bun.ArrayBufferSink();
  return { write: (piece) => sink.write(piece), end: () => new Uint8Array(sink.end()) };
}

/** Parses the bytes of a JSON text; messages call it `what`. Errors: malformed, invalid. */
export function parseJson(bytes: Uint8Array, what: string): unknown {
  refuseDepth(bytes, LIMITS.body_depth);
  const text = decodeUtf8(bytes, what);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^JSON Parse error: /, "") : "";
    throw new AppError("malformed", `${what} is not JSON: ${reason}`);
  }
  // NUL and halves of surrogate pairs can stand in JSON only as escapes.
  if (text.includes("\\u") && /\\u(0000|d[89a-f])/i.test(text)) refuseText(value, "");
  return value;
}

/** A body that is read in pieces, as they come in. */
export interface BodyPieces {
  /** The next piece, undefined at the end. Errors: malformed when the body is cut off. */
  read(): Promise<Uint8Array | undefined>;
  /** Ends the reading: what still comes in is thrown away. */
  cancel(): void;
}

export function openBody(request: Request): BodyPieces {
  const reader = request.body?.getReader();
  return {
    read: async () => (await reader?.read().catch(refuseCut))?.value,
    cancel: () => void reader?.cancel().catch(() => undefined),
  };
}

/** Most often the caller has gone. */
function refuseCut(cause: unknown): never {
  throw new AppError("malformed", "The body was cut off", { cause });
}

/**
 * Reads a body as a browser sends a form. Errors: unsupported_media_type, too_large, malformed, and invalid for
 * text that not every database can store.
 */
export async function readForm(request: Request): Promise<URLSearchParams> {
  return new URLSearchParams(await readFormText(request, LIMITS.form_body_bytes));
}

/** The text of such a body, as it came: what is signed is signed so. Errors: as those of `readForm`. */
export async function readFormText(request: Request, max_bytes: number): Promise<string> {
  mediaTypeOf(request, ["application/x-www-form-urlencoded"]);
  const text = decodeUtf8(await readPieces(request, max_bytes), "The body");
  refuseText(Object.fromEntries(new URLSearchParams(text)), "");
  return text;
}

/** Reads a body as text of one of the media types. Errors: unsupported_media_type, too_large, malformed, invalid. */
export async function readText(request: Request, types: readonly [string, ...string[]]): Promise<string> {
  mediaTypeOf(request, types);
  const text = decodeUtf8(await readPieces(request), "The body");
  refuseText(text, "");
  return text;
}

/** Reads a body without keeping more than its limit. Errors: too_large, malformed. */
async function readPieces(request: Request, max_bytes: number = LIMITS.body_bytes): Promise<Uint8Array> {
  const gathered = gather();
  const body = openBody(request);
  for (let size = 0; ; ) {
    const piece = await body.read();
    if (piece === undefined) return gathered.end();
    size += piece.byteLength;
    if (size > max_bytes) {
      body.cancel();
      throw tooLarge(max_bytes);
    }
    gathered.write(piece);
  }
}

function tooLarge(max_bytes: number = LIMITS.body_bytes): AppError {
  return new AppError("too_large", `The body is over ${max_bytes} bytes`);
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

function decodeUtf8(bytes: Uint8Array, what: string): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new AppError("malformed", `${what} is not UTF-8 text`);
  }
}

const [QUOTE, BACKSLASH, OPEN_BRACKET, OPEN_BRACE, CLOSE_BRACKET, CLOSE_BRACE] = Buffer.from('"\\[{]}');

/**
 * Refuses JSON nested deeper than `max_depth`, before anything recursive (the parser, checks, messages) gets
 * to see it. Errors: invalid.
 */
function refuseDepth(bytes: Uint8Array, max_depth: number): void {
  let depth = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === QUOTE) {
      // To the end of the string, which most of the bytes are in.
      for (i++; i < bytes.length && bytes[i] !== QUOTE; i++) if (bytes[i] === BACKSLASH) i++;
    } else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
      if (++depth > max_depth) throw invalid("", `must be at most ${max_depth} levels deep`);
    } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) {
      depth--;
    }
  }
}

/** Refuses NUL in a query, as in a body. Errors: invalid. */
export function refuseNulIn(url: string): void {
  if (url.includes("%00")) refuseText(Object.fromEntries(new URL(url).searchParams), "");
}

/** Refuses text that is stored by one database and not, or changed, by another. */
function refuseText(value: unknown, path: string): void {
  if (typeof value === "string") {
    if (value.includes("\0")) throw invalid(path, "must not contain the NUL character");
    if (!value.isWellFormed()) throw invalid(path, "must not contain half of a surrogate pair");
  }
  if (typeof value !== "object" || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    // A bad key has no path that could be written down: its object is named.
    refuseText(key, path);
    refuseText(member, `${path}/${pointerPart(key)}`);
  }
}
