import { LIMITS } from "../core/config.ts";
import { AppError } from "../core/errors.ts";

/**
 * Reads a JSON body. Errors: unsupported_media_type, too_large, malformed (not JSON, or not UTF-8), and
 * invalid with its place for text that holds NUL, which not every database can store.
 */
export async function readJson(request: Request, contentType: string): Promise<unknown> {
  if (contentType === "application/json") return parseJson(await readText(request, LIMITS.body_bytes));
  // No body says as much as an empty one: the route's schema tells what is missing.
  if (contentType === "" && request.body === null) return {};
  throw new AppError(
    "unsupported_media_type",
    `Cannot read ${contentType || "a body without a type"}: send application/json`,
  );
}

/** Parses JSON text. Errors: malformed; invalid for a text or key that holds NUL. */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^JSON Parse error: /, "") : "";
    throw new AppError("malformed", `The body is not JSON: ${reason}`);
  }
  if (text.includes("\\u0000")) refuseNul(value, "");
  return value;
}

/** Reads a body as text, and stops at `max_bytes` without keeping more. Errors: too_large, malformed. */
export async function readText(request: Request, max_bytes: number): Promise<string> {
  const told = Number(request.headers.get("content-length") ?? Number.NaN);
  if (told > max_bytes) throw tooLarge(max_bytes);
  // What tells its length is read at once, which is much quicker than chunk by chunk.
  const bytes = told <= max_bytes ? await request.bytes() : await readChunks(request, max_bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new AppError("malformed", "The body is not UTF-8 text");
  }
}

async function readChunks(request: Request, max_bytes: number): Promise<Uint8Array> {
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

/** Refuses NUL in a path or a query, as in a body. Errors: invalid. */
export function refuseNulIn(url: string): void {
  if (url.includes("%00")) refuseNul(Object.fromEntries(new URL(url).searchParams), "");
}

function refuseNul(value: unknown, path: string): void {
  if (typeof value === "string" && value.includes("\0")) {
    throw new AppError("invalid", `${path.slice(1) || "body"} must not contain the NUL character`, {
      details: [{ path, message: "must not contain the NUL character" }],
    });
  }
  if (typeof value !== "object" || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    refuseNul(key, `${path}/${key.replaceAll("\0", "")}`);
    refuseNul(member, `${path}/${key}`);
  }
}
