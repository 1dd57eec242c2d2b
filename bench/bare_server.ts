import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Elysia } from "elysia";
import type { Cleanup } from "./cleanup.ts";
import { buildRequest, Connection } from "./connection.ts";
import { type ServerProcess, startProcess } from "./processes.ts";

/** The path that the bare server answers. */
const BARE_PATH = "/answer";

/**
 * The peer of requests: Elysia with one route and nothing else, answering the record of a file that holds the
 * service's own answer. It turns it into JSON each time, as any route does, and reads the body of a POST.
 */
export function serveBare(file: string): void {
  const answer: unknown = JSON.parse(readFileSync(file, "utf8"));
  const app = new Elysia()
    .get(BARE_PATH, () => answer)
    .post(BARE_PATH, () => answer, { parse: "json" })
    .listen({ port: 0, hostname: "127.0.0.1" });
  console.log(`The bare server listens on http://localhost:${app.server?.port}`);
}

/** A bare server that answers a request of its own with the bytes that the service answers one with. */
export interface Bare extends ServerProcess {
  readonly request: Uint8Array;
  /** What a table calls it. */
  readonly name: string;
}

/**
 * Starts a process that answers as the service at `origin` answers `request`; a POST sends it `body`. Errors: throws
 * where it answers other bytes.
 */
export async function startBare(
  cleanup: Cleanup,
  origin: string,
  { request, body }: { request: Uint8Array; body?: string },
): Promise<Bare> {
  const expected = await answerTo(origin, request);
  const file = join(cleanup.folder(), "answer.json");
  writeFileSync(file, expected);
  const server = await startProcess(cleanup, ["bench/main.ts", "--serve-bare", file], {});
  const asked =
    body === undefined ? buildRequest("GET", BARE_PATH) : buildRequest("POST", BARE_PATH, { body });
  if (!Buffer.from(expected).equals(await answerTo(server.origin, asked)))
    throw new Error("Cannot compare: the bare server answers other bytes than the service");
  const bytes = expected.length.toLocaleString("en-US");
  return { ...server, request: asked, name: `bare Elysia route of the same ${bytes} bytes` };
}

async function answerTo(origin: string, request: Uint8Array): Promise<Uint8Array> {
  const connection = await Connection.open(origin);
  try {
    return (await connection.send(request)).body;
  } finally {
    connection.close();
  }
}
