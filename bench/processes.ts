import { join } from "node:path";
import type { Cleanup } from "./cleanup.ts";

const ROOT = join(import.meta.dir, "..");

/** A server in a process of its own. */
export interface ServerProcess {
  /** `http://localhost:41231` */
  origin: string;
  /** Lets it answer what is in flight and close its files. */
  stop(): Promise<void>;
}

/** Starts a Bun program of this repository and waits until it prints where it `listens on`. */
export async function startProcess(
  cleanup: Cleanup,
  words: readonly string[],
  env: Record<string, string>,
): Promise<ServerProcess> {
  const child = Bun.spawn(["bun", ...words], {
    cwd: ROOT,
    // Its own settings only: those of the caller's shell must not change what is measured.
    env: { PATH: process.env.PATH ?? "", UV_THREADPOOL_SIZE: "16", ...env },
    stdout: "pipe",
    stderr: "inherit",
  });
  cleanup.add(async () => {
    child.kill("SIGKILL");
    await child.exited;
  });
  const lines = linesOf(child.stdout);
  let origin: string | undefined;
  while (origin === undefined) {
    const { value, done } = await lines.next();
    if (done) throw new Error(`Cannot start bun ${words.join(" ")}: it ended with ${await child.exited}`);
    origin = /listens on (\S+)/.exec(value)?.[1];
  }
  void passOn(lines);
  return {
    origin,
    async stop() {
      child.kill("SIGTERM");
      await child.exited;
    },
  };
}

/** Whatever else it prints are warnings. Reading also keeps a full pipe from halting it. */
async function passOn(lines: AsyncIterable<string>): Promise<void> {
  for await (const line of lines) process.stderr.write(`${line}\n`);
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
  return undefined;
}
