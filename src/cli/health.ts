import { readConfig } from "../core/config.ts";
import { wrongWords } from "../core/exit_codes.ts";
import type { Command } from "./command.ts";

const ANSWER_MS = 3_000;

export const health: Command = {
  name: "health",
  summary: "Ask the server on this machine whether it is well",
  help: `Usage: bun src/main.ts health [--ready] [--url URL]

Exits with 0 when the server answers that it is well, else with 1 and the reason.

  --ready    asks whether both stores answer (/ready) rather than whether it runs (/health)
  --url URL  where it listens; otherwise on this machine at HOST and PORT`,
  operands: 0,
  options: { ready: { type: "boolean" }, url: { type: "string" } },
  async run({ values }) {
    const origin = typeof values.url === "string" ? values.url : localOrigin();
    const url = URL.parse(values.ready === true ? "/ready" : "/health", origin);
    if (!url) throw wrongWords("--url must be the server's origin, such as http://localhost:3000");
    const answer = await ask(url);
    if (!answer.ok) throw new Error(`${url.href} answers ${answer.status}: ${await answer.text()}`);
    console.log(`${url.href}: ok`);
  },
};

/** A server that listens on every address is asked at this machine's own. */
function localOrigin(): string {
  const { host, port } = readConfig(process.env);
  const address = /^(0\.0\.0\.0|::|\[::\])$/.test(host) ? "127.0.0.1" : host;
  return `http://${address.includes(":") ? `[${address}]` : address}:${port}`;
}

async function ask(url: URL): Promise<Response> {
  try {
    return await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS), redirect: "error" });
  } catch (error) {
    throw new Error(`No answer from ${url.href}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}
