import { readFileSync } from "node:fs";
import { Elysia } from "elysia";

/** The path that the bare server answers. */
export const BARE_PATH = "/answer";

/**
 * The peer of reads: Elysia with one route and nothing else, answering the record of a file that holds the
 * service's own answer. It turns it into JSON each time, as any route does.
 */
export function serveBare(file: string): void {
  const answer: unknown = JSON.parse(readFileSync(file, "utf8"));
  const app = new Elysia().get(BARE_PATH, () => answer).listen({ port: 0, hostname: "127.0.0.1" });
  console.log(`The bare server listens on http://localhost:${app.server?.port}`);
}
