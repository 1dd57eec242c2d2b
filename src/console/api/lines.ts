import { Failure, fetchRaw } from "./call.ts";

/** Posts a question whose answer comes as lines of JSON (NDJSON), and passes each on. Errors: Failure. */
export async function* askLines<T>(url: string, body: unknown, signal: AbortSignal): AsyncGenerator<T> {
  const response = await fetchRaw(url, {
    method: "POST",
    headers: { accept: "application/x-ndjson", "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const read = await reader?.read().catch(() => undefined);
    signal.throwIfAborted();
    if (read === undefined) throw new Failure("The answer broke off before its end");
    const lines = `${rest}${read.value ?? ""}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const parsed: T = JSON.parse(line);
      yield parsed;
    }
    if (read.done) return;
  }
}
