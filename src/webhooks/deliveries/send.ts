import { isIPv6 } from "node:net";
import { errorCode } from "../../core/error_code.ts";
import { LIMITS } from "../limits.ts";
import { addressesOf, ForbiddenDestination, type Resolve, resolveHost } from "../endpoints/destination.ts";
import { readUrl, type DestinationPolicy } from "../endpoints/rules.ts";
import { type AttemptResult, hasSucceeded } from "./rules.ts";

/** A signed HTTP request to an endpoint. */
export interface Message {
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** The outcome of an attempt. */
export interface SendOutcome extends AttemptResult {
  duration_ms: number;
  response_excerpt: string | null;
  error: string | null;
}

export interface SendOptions extends DestinationPolicy {
  /** Aborts the attempt. */
  stop: AbortSignal;
  timeout_ms?: number;
  resolve?: Resolve;
  /** Certificates to trust besides the machine's. */
  ca?: string;
}

/**
 * Makes one attempt: resolves the host, checks the addresses, and connects to one of them (no DNS rebinding).
 * Redirects are not followed. Never rejects: failures are part of the outcome. Decision 0062.
 */
export async function send(message: Message, options: SendOptions): Promise<SendOutcome> {
  const { timeout_ms = LIMITS.webhook_timeout_ms } = options;
  const timeout = AbortSignal.timeout(timeout_ms);
  const signal = AbortSignal.any([options.stop, timeout]);
  const started = performance.now();
  const ended = (outcome: Omit<SendOutcome, "duration_ms">): SendOutcome => ({
    ...outcome,
    duration_ms: Math.round(performance.now() - started),
  });
  try {
    return ended(await attempt(message, options, signal));
  } catch (error) {
    const reason = timeout.aborted ? `No answer within ${timeout_ms / 1_000} s` : reasonOf(error);
    return ended({ status_code: null, retry_after: null, response_excerpt: null, error: reason });
  }
}

async function attempt(message: Message, options: SendOptions, signal: AbortSignal) {
  // The URL was valid when it was saved; the policy may have changed since.
  const { url, problem } = readUrl(message.url, options);
  if (!url) throw new ForbiddenDestination(problem);
  const addresses = await unlessAborted(addressesOf(url, options, options.resolve ?? resolveHost), signal);
  const response = await connectToFirst(addresses, url, message, options, signal);
  const { status, headers } = response;
  return {
    status_code: status,
    retry_after: headers.get("retry-after"),
    response_excerpt: await readExcerpt(response),
    error: hasSucceeded({ status_code: status }) ? null : errorOf(status),
  };
}

/** Tries the next address after a refused connection only: after any other failure the message may have arrived. */
async function connectToFirst(
  addresses: readonly string[],
  url: URL,
  message: Message,
  options: SendOptions,
  signal: AbortSignal,
): Promise<Response> {
  for (const [i, address] of addresses.entries()) {
    try {
      return await post(address, url, message, options, signal);
    } catch (error) {
      if (errorCode(error) !== "ECONNREFUSED" || i === addresses.length - 1) throw error;
    }
  }
  throw new Error("The host has no address");
}

/** Posts to one address; Host and the certificate are those of the URL's own host. */
function post(
  address: string,
  url: URL,
  { headers, body }: Message,
  { ca }: SendOptions,
  signal: AbortSignal,
): Promise<Response> {
  const pinned = new URL(url);
  pinned.hostname = isIPv6(address) ? `[${address}]` : address;
  const is_named = pinned.hostname !== url.hostname;
  const tls = {
    ...(is_named ? { serverName: url.hostname.replace(/\.$/, "") } : {}),
    ...(ca === undefined ? {} : { ca }),
  };
  return fetch(pinned, {
    method: "POST",
    headers: { ...headers, host: url.host, "accept-encoding": "identity" },
    body,
    redirect: "manual",
    signal,
    ...(url.protocol === "https:" ? { tls } : {}),
    // No connection outlives its attempt, and nothing is decompressed.
    keepalive: false,
    decompress: false,
  });
}

const UTF8 = new TextDecoder();

/** The beginning of the response as text that every database can store; the rest is never read. */
async function readExcerpt({ body }: Response): Promise<string | null> {
  if (!body) return null;
  const bytes = new Uint8Array(LIMITS.webhook_excerpt_bytes);
  const reader = body.getReader();
  let size = 0;
  try {
    while (size < bytes.length) {
      const { value, done } = await reader.read();
      if (done) break;
      const part = value.subarray(0, bytes.length - size);
      bytes.set(part, size);
      size += part.length;
    }
  } catch {
    // The status decides; what arrived of the body is enough.
  }
  void reader.cancel().catch(() => undefined);
  if (size === 0) return null;
  const text = UTF8.decode(bytes.subarray(0, size)).replaceAll("\0", "\uFFFD");
  // Undecodable bytes take more room as replacement characters.
  const { read } = new TextEncoder().encodeInto(text, bytes);
  return text.slice(0, read);
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    signal.throwIfAborted();
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function errorOf(status: number): string {
  if (status >= 300 && status < 400) return `Answered ${status}: redirects are not followed`;
  return `Answered ${status}`;
}

function reasonOf(error: unknown): string {
  if (error instanceof ForbiddenDestination) return `The URL ${error.message}`;
  const code = errorCode(error) ?? (error instanceof Error ? error.name : "unknown");
  return code === "ENOTFOUND" ? "The host can't be resolved" : `Cannot reach the endpoint: ${code}`;
}
