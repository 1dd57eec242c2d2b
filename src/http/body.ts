import { AppError } from "../core/errors.ts";
import { LIMITS } from "./limits.ts";
import { byteBuffer, openBody } from "./body_stream.ts";
import { BodyMemory, type Sender } from "./body_memory.ts";
import { assertStorable, decodeUtf8, parseJson, REQUEST_JSON } from "./json.ts";
import type { JsonBounds } from "./json_scan.ts";

/**
 * The body's media type, one of those allowed; without body and type it is the first of them.
 * Errors: unsupported_media_type, which names those allowed.
 */
export function mediaTypeOf<const T extends string>(request: Request, allowed: readonly [T, ...T[]]): T {
  const header = request.headers.get("content-type");
  if (header === null && request.body === null) return allowed[0];
  const [type, ...parameters] = (header ?? "")
    .toLowerCase()
    .split(";")
    .map((part) => part.trim());
  const charset = parameters.find((parameter) => parameter.startsWith("charset="))?.slice(8);
  const found = allowed.find((candidate) => candidate === type);
  if (found !== undefined && /^("?utf-8"?)?$/.test(charset ?? "")) return found;
  const others = allowed.length > 1 ? `${allowed.slice(0, -1).join(", ")} or ` : "";
  throw new AppError(
    "unsupported_media_type",
    `Cannot read ${header ?? "a body without a type"}: send ${others}${allowed.at(-1)} in UTF-8`,
  );
}

interface JsonOptions {
  bounds?: JsonBounds;
  /** Receives the bytes before they are parsed. */
  look?: (bytes: Uint8Array) => void;
}

/**
 * Reads a body as one JSON value, whatever its media type. Errors: those of `readBytes`, malformed (not JSON or not
 * UTF-8), and invalid for what is too deep, too large, or can't be stored by every database.
 */
export async function readJson(
  request: Request,
  sender: Sender,
  { bounds = REQUEST_JSON, look = () => undefined }: JsonOptions = {},
): Promise<unknown> {
  const content_length = Number(request.headers.get("content-length") ?? Number.NaN);
  // No body counts as an empty object, whatever type the client names: the route's schema says what is missing.
  if (!(content_length > 0) && request.body === null) return {};
  return withBytes(request, sender, (bytes) => {
    look(bytes);
    return bytes.length === 0 ? {} : parseJson(bytes, "The body", bounds).value;
  });
}

/**
 * Reads a form (x-www-form-urlencoded). Errors: those of `readBytes`, unsupported_media_type, and invalid for text
 * that can't be stored by every database.
 */
export async function readForm(request: Request, sender: Sender): Promise<URLSearchParams> {
  return new URLSearchParams(await readFormText(request, sender));
}

/** The raw text of a form, which is what signatures cover. Errors: those of `readForm`. */
export async function readFormText(request: Request, sender: Sender): Promise<string> {
  mediaTypeOf(request, ["application/x-www-form-urlencoded"]);
  const text = await withBytes(request, sender, (bytes) => decodeUtf8(bytes, "The body"));
  assertStorable(Object.fromEntries(new URLSearchParams(text)), "");
  return text;
}

/** Reads a body as text of one of the media types. Errors: those of `readBytes`, unsupported_media_type, invalid. */
export async function readText(
  request: Request,
  sender: Sender,
  types: readonly [string, ...string[]],
): Promise<string> {
  mediaTypeOf(request, types);
  const text = await withBytes(request, sender, (bytes) => decodeUtf8(bytes, "The body"));
  assertStorable(text, "");
  return text;
}

/** Reads a body and uses its bytes, which count towards the memory for bodies meanwhile. */
async function withBytes<T>(request: Request, sender: Sender, use: (bytes: Uint8Array) => T): Promise<T> {
  const memory = new BodyMemory(sender);
  try {
    return use(await readBytes(request, sender, memory));
  } finally {
    memory.release();
  }
}

/**
 * Reads a whole body. It counts with the bytes that arrived, not with what it declares, and must arrive in time.
 * Anonymous callers may send less, and for a shorter time.
 * Errors: too_large, timed_out, malformed (cut off), unavailable and rate_limited when the memory is full.
 */
async function readBytes(request: Request, { actor }: Sender, memory: BodyMemory): Promise<Uint8Array> {
  const is_open = actor.kind === "anonymous";
  const max_bytes = is_open ? LIMITS.open_body_bytes : LIMITS.body_bytes;
  const time_ms = is_open ? LIMITS.open_body_ms : LIMITS.body_ms;
  const content_length = Number(request.headers.get("content-length") ?? 0);
  if (content_length > max_bytes) throw tooLarge(max_bytes);
  const body = openBody(request);
  let late: AppError | undefined;
  const timer = setTimeout(() => {
    late = new AppError("timed_out", `The body took over ${time_ms / 1_000} s to arrive`);
    body.cancel();
  }, time_ms);
  try {
    const buffer = byteBuffer();
    for (let size = 0; ; ) {
      const piece = await body.read();
      if (late) throw late;
      if (piece === undefined) return buffer.end();
      size += piece.byteLength;
      if (size > max_bytes) throw tooLarge(max_bytes);
      memory.reserve(size);
      // Most bodies arrive in one piece.
      if (size === content_length && piece.byteLength === content_length) return piece;
      buffer.write(piece);
    }
  } catch (error) {
    body.cancel();
    throw late ?? error;
  } finally {
    clearTimeout(timer);
  }
}

function tooLarge(max_bytes: number): AppError {
  return new AppError("too_large", `The body is over ${max_bytes} bytes`);
}
