import { principalOf } from "../core/access.ts";
import { AppError } from "../core/errors.ts";
import { LIMITS } from "./limits.ts";
import { BodyMemory, type Sender } from "./body_memory.ts";
import { decodeUtf8, type JsonBounds, parseJson, REQUEST_JSON, assertStorable } from "./json.ts";

/**
 * The media type of a body, one of those allowed; the first where there is neither a body nor a type.
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
  const found = allowed.find((one) => one === type);
  if (found !== undefined && /^("?utf-8"?)?$/.test(charset ?? "")) return found;
  const others = allowed.length > 1 ? `${allowed.slice(0, -1).join(", ")} or ` : "";
  throw new AppError(
    "unsupported_media_type",
    `Cannot read ${header ?? "a body without a type"}: send ${others}${allowed.at(-1)} in UTF-8`,
  );
}

/** How a JSON body is read. */
interface JsonReading {
  bounds?: JsonBounds;
  /** Sees the bytes before they are parsed. */
  look?: (bytes: Uint8Array) => void;
}

/**
 * Reads a body as one JSON value, whatever its media type. Errors: those of `readBytes`, malformed (not JSON or not
 * UTF-8), and invalid for what is nested too deep, holds too much, or something that not every database can store.
 */
export async function readJson(
  request: Request,
  sender: Sender,
  { bounds = REQUEST_JSON, look = () => undefined }: JsonReading = {},
): Promise<unknown> {
  const content_length = Number(request.headers.get("content-length") ?? Number.NaN);
  // No body says as much as an empty object, also from clients that name a type for all they send: the route's
  // schema tells what is missing.
  if (!(content_length > 0) && request.body === null) return {};
  return withBytes(request, sender, (bytes) => {
    look(bytes);
    return bytes.length === 0 ? {} : parseJson(bytes, "The body", bounds).value;
  });
}

/**
 * Reads a body as a browser sends a form. Errors: those of `readBytes`, unsupported_media_type, and invalid for
 * text that not every database can store.
 */
export async function readForm(request: Request, sender: Sender): Promise<URLSearchParams> {
  return new URLSearchParams(await readFormText(request, sender));
}

/** The text of such a body, as it came: what is signed is signed so. Errors: as those of `readForm`. */
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
    read: async () => (await reader?.read().catch(assertComplete))?.value,
    cancel: () => void reader?.cancel().catch(() => undefined),
  };
}

/** Most often the caller has gone. */
function assertComplete(cause: unknown): never {
  throw new AppError("malformed", "The body was cut off", { cause });
}

/** Gathers bytes that come in pieces, however small; `end()` gives them as one array. */
export function byteBuffer(): { write(piece: Uint8Array): unknown; end(): Uint8Array } {
  const sink = new Bun.ArrayBufferSink();
  return { write: (piece) => sink.write(piece), end: () => new Uint8Array(sink.end()) };
}

/** Uses a body's bytes, which count towards the room for bodies meanwhile. */
async function withBytes<T>(request: Request, sender: Sender, use: (bytes: Uint8Array) => T): Promise<T> {
  const room = new BodyMemory(sender);
  try {
    return use(await readBytes(request, sender, room));
  } finally {
    room.release();
  }
}

/**
 * Reads a body whole. What it says of its length reserves nothing: what has come in counts, and must be whole in
 * time. Callers who are not signed in may send little, and not for long.
 * Errors: too_large, timed_out, malformed (cut off), unavailable and rate_limited when there is no room.
 */
async function readBytes(request: Request, { actor }: Sender, room: BodyMemory): Promise<Uint8Array> {
  const is_open = principalOf(actor) === null;
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
    const gathered = byteBuffer();
    for (let size = 0; ; ) {
      const piece = await body.read();
      if (late) throw late;
      if (piece === undefined) return gathered.end();
      size += piece.byteLength;
      if (size > max_bytes) throw tooLarge(max_bytes);
      room.reserve(size);
      // The whole body came at once, as most do.
      if (size === content_length && piece.byteLength === content_length) return piece;
      gathered.write(piece);
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
