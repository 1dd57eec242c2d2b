import { LIMITS } from "../limits.ts";

/** The outcome of a call: the text of a good response, or the problem. */
export type Posted = { text: string; problem?: undefined } | { text?: undefined; problem: string };

export interface PostOptions {
  timeout_ms?: number;
}

const UTF8 = new TextDecoder();

/**
 * Posts a form and reads the response, within a limit of time for both and a limit of size. Redirects are not
 * followed. It never throws: a failure is returned as a problem.
 */
export async function postForm(
  url: string,
  fields: Record<string, string>,
  { timeout_ms = LIMITS.scheme_call_ms }: PostOptions = {},
): Promise<Posted> {
  const signal = AbortSignal.timeout(timeout_ms);
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        "accept-encoding": "identity",
      },
      body: new URLSearchParams(fields).toString(),
      redirect: "manual",
      signal,
      // No connection outlives its call, and no body is decompressed.
      keepalive: false,
      decompress: false,
    });
    if (response.status !== 200) {
      void response.body?.cancel().catch(() => undefined);
      return { problem: `the scheme answered ${response.status}` };
    }
    const bytes = await readUpTo(response, LIMITS.scheme_answer_bytes);
    return bytes === null ? { problem: "the scheme's answer is too long" } : { text: UTF8.decode(bytes) };
  } catch (error) {
    if (signal.aborted) return { problem: `the scheme did not answer within ${timeout_ms / 1_000} s` };
    return { problem: `the scheme can't be reached: ${error instanceof Error ? error.name : "unknown"}` };
  }
}

/** The whole body, or null when it is longer than the limit. */
async function readUpTo({ body }: Response, max_bytes: number): Promise<Uint8Array | null> {
  if (body === null) return new Uint8Array();
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of body) {
    size += piece.byteLength;
    if (size > max_bytes) return null;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
