import { LIMITS } from "../core/config.ts";
import { AppError, invalid, pointerPart } from "../core/errors.ts";

/**
 * Reads a JSON body. Errors: unsupported_media_type, too_large, malformed (not JSON, or not UTF-8), and
 * invalid for what is nested too deep or holds text that not every database can store.
 */
export async function readJson(request: Request): Promise<unknown> {
  const told = request.headers.get("content-type");
  // No body says as much as an empty one: the route's schema tells what is missing.
  if (told === null && request.body === null) return {};
  const [type, ...parameters] = (told ?? "")
    .toLowerCase()
    .split(";")
    .map((part) => part.trim());
  const charset = parameters.find((parameter) => parameter.startsWith("charset="))?.slice(8);
  if (type !== "application/json" || !/^("?utf-8"?)?$/.test(charset ?? "")) {
    const found = told ?? "a body without a type";
    throw new AppError("unsupported_media_type", `Cannot read ${found}: send application/json in UTF-8`);
  }
  return takeRoom(request, async () => parseJson(await readBytes(request, LIMITS.body_bytes)));
}

/** Bytes of the bodies that are being read. */
let under_way = 0;

/** Reads a body when there is room for it beside the others. Errors: unavailable. */
async function takeRoom<T>(request: Request, read: () => Promise<T>): Promise<T> {
  const told = Number(request.headers.get("content-length") ?? Number.NaN);
  const bytes = told <= LIMITS.body_bytes ? told : LIMITS.body_bytes;
  if (under_way + bytes > LIMITS.bodies_bytes) {
    throw new AppError("unavailable", "Too many large bodies at once: try again", { retry_after_s: 1 });
  }
  under_way += bytes;
  try {
    return await read();
  } finally {
    under_way -= bytes;
  }
}

/** Parses the bytes of a JSON text. Errors: malformed, invalid. */
function parseJson(bytes: Uint8Array): unknown {
  refuseDepth(bytes, LIMITS.body_depth);
  const text = decodeUtf8(bytes);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^JSON Parse error: /, "") : "";
    throw new AppError("malformed", `The body is not JSON: ${reason}`);
  }
  // NUL and halves of surrogate pairs can stand in JSON only as escapes.
  if (/\\u(0000|d[89a-f])/i.test(text)) refuseText(value, "");
  return value;
}

/** Reads a body, and stops at `max_bytes` without keeping more. Errors: too_large. */
async function readBytes(request: Request, max_bytes: number): Promise<Uint8Array> {
  const told = Number(request.headers.get("content-length") ?? Number.NaN);
  if (told > max_bytes) throw tooLarge(max_bytes);
  // What tells its length is read at once, which is much quicker than chunk by chunk.
  if (told <= max_bytes) return request.bytes();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength;
    if (size > max_bytes) throw tooLarge(max_bytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooLarge(max_bytes: number): AppError {
  return new AppError("too_large", `The body is over ${max_bytes} bytes`);
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new AppError("malformed", "The body is not UTF-8 text");
  }
}

const [QUOTE, BACKSLASH, OPEN_BRACKET, OPEN_BRACE, CLOSE_BRACKET, CLOSE_BRACE] = Buffer.from('"\\[{]}');

/**
 * Refuses JSON nested deeper than `max_depth`, before anything recursive (the parser, checks, messages) gets
 * to see it. Errors: invalid.
 */
function refuseDepth(bytes: Uint8Array, max_depth: number): void {
  let depth = 0;
  let in_string = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (in_string) {
      if (byte === BACKSLASH) i++;
      else if (byte === QUOTE) in_string = false;
    } else if (byte === QUOTE) {
      in_string = true;
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
