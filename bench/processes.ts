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
  const child = spawnProgram(cleanup, words, env);
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

/** What a program printed, and what it took. */
export interface Ran {
  printed: string;
  seconds: number;
  /** Of processor time, on all cores. */
  cpu_s: number;
  /** The most memory that it had. */
  peak_bytes: number;
}

/** Runs a Bun program of this repository to its end and gives what it printed. Errors: throws when it fails. */
export async function runProcess(
  cleanup: Cleanup,
  words: readonly string[],
  env: Record<string, string>,
): Promise<string> {
  return (await measureProcess(cleanup, words, env)).printed;
}

/** The same, with what it took. */
export async function measureProcess(
  cleanup: Cleanup,
  words: readonly string[],
  env: Record<string, string>,
): Promise<Ran> {
  const started = performance.now();
  const child = spawnProgram(cleanup, words, env);
  const printed = await child.stdout.text();
  const code = await child.exited;
  const seconds = (performance.now() - started) / 1_000;
  if (code !== 0)
    throw new Error(`Cannot go on: bun ${words.join(" ")} ended with ${code}: ${printed.trim()}`);
  const { cpuTime, maxRSS = Number.NaN } = child.resourceUsage() ?? {};
  return { printed, seconds, cpu_s: Number(cpuTime?.total ?? Number.NaN) / 1e6, peak_bytes: maxRSS };
}

/** Ends a Bun program of this repository as `kill -9` does, at the first line that it prints of which `at` is true. */
export async function killProcess(
  cleanup: Cleanup,
  words: readonly string[],
  env: Record<string, string>,
  at: (line: string) => boolean,
): Promise<string> {
  const child = spawnProgram(cleanup, words, env);
  for await (const line of linesOf(child.stdout)) {
    if (!at(line)) continue;
    child.kill("SIGKILL");
    await child.exited;
    return line;
  }
  throw new Error(
    `Cannot go on: bun ${words.join(" ")} ended with ${await child.exited} before it was killed`,
  );
}

function spawnProgram(cleanup: Cleanup, words: readonly string[], env: Record<string, string>) {
  const child = Bun.spawn(["bun", ...words], {
    cwd: ROOT,
    env: environment(env),
    stdout: "pipe",
    stderr: "inherit",
  });
  cleanup.add(() => child.kill("SIGKILL"));
  return child;
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
