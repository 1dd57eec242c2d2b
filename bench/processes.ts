import { join } from "node:path";
import type { Cleanup } from "./cleanup.ts";

const ROOT = join(import.meta.dir, "..");

/** The settings of a process: its own only, since those of the caller's shell must not change what is measured. */
const environment = (settings: Record<string, string>) => ({
  PATH: process.env.PATH ?? "",
  // Where Bun keeps what it transpiled: most supervisors set it too.
  ...(process.env.HOME === undefined ? {} : { HOME: process.env.HOME }),
  UV_THREADPOOL_SIZE: "16",
  ...settings,
});

/** A server in a process of its own. */
export interface ServerProcess {
  /** `http://localhost:41231` */
  origin: string;
  /** Lets it answer what is in flight and close its files. */
  stop(): Promise<void>;
  /** Ends it as `kill -9` does. */
  kill(): Promise<void>;
}

/** Starts a Bun program of this repository and waits until it prints where it `listens on`. */
export async function startProcess(
  cleanup: Cleanup,
  words: readonly string[],
  env: Record<string, string>,
): Promise<ServerProcess> {
  const child = Bun.spawn(["bun", ...words], {
    cwd: ROOT,
    env: environment(env),
    stdout: "pipe",
    stderr: "inherit",
  });
  const end = async (signal: "SIGTERM" | "SIGKILL") => {
    child.kill(signal);
    await child.exited;
  };
  cleanup.add(() => end("SIGKILL"));
  const lines = linesOf(child.stdout);
  let origin: string | undefined;
  while (origin === undefined) {
    const { value, done } = await lines.next();
    if (done) throw new Error(`Cannot start bun ${words.join(" ")}: it ended with ${await child.exited}`);
    origin = /listens on (\S+)/.exec(value)?.[1];
  }
  void passOn(lines);
  return { origin, stop: () => end("SIGTERM"), kill: () => end("SIGKILL") };
}

/** Runs a Bun program of this repository to its end and gives what it printed. Errors: throws when it fails. */
export async function runProcess(
  cleanup: Cleanup,
  words: readonly string[],
  env: Record<string, string>,
): Promise<string> {
  const child = Bun.spawn(["bun", ...words], {
    cwd: ROOT,
    env: environment(env),
    stdout: "pipe",
    stderr: "inherit",
  });
  cleanup.add(() => child.kill("SIGKILL"));
  const printed = await child.stdout.text();
  const code = await child.exited;
  if (code === 0) return printed;
  throw new Error(`Cannot go on: bun ${words.join(" ")} ended with ${code}: ${printed.trim()}`);
}

/** Prints the rest of its output, which are warnings. Reading also keeps a full pipe from blocking it. */
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
