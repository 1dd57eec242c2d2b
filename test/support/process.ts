import { spyOn } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "../../src/cli/run.ts";
import { type Api, apiOf, PASSWORD, TEST_STORE } from "./harness.ts";
import { testPostgres } from "./postgres.ts";
import { afterEverything } from "./preload.ts";

/** A data directory, and the settings with which commands use it. */
export interface CommandFolder {
  data_dir: string;
  env: Record<string, string>;
  remove(): void;
}

export async function makeCommandFolder(): Promise<CommandFolder> {
  const data_dir = mkdtempSync(join(tmpdir(), "meterhouse-"));
  const database =
    TEST_STORE === "postgres" ? { DATABASE_URL: await (await testPostgres()).createDatabase() } : {};
  const env = {
    PATH: process.env.PATH ?? "",
    DATA_DIR: data_dir,
    HOST: "127.0.0.1",
    PORT: "0",
    ADMIN_EMAIL: "admin@example.com",
    ADMIN_PASSWORD: PASSWORD,
    UV_THREADPOOL_SIZE: "16",
    ...database,
  };
  return { data_dir, env, remove: () => rmSync(data_dir, { recursive: true, force: true }) };
}

export interface Finished {
  code: number;
  out: string;
  err: string;
}

/** Runs one command to its end. */
export async function run(words: string[], env: Record<string, string>): Promise<Finished> {
  const child = Bun.spawn(["bun", "src/main.ts", ...words], { env, stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { code: await child.exited, out, err };
}

/** Runs one command to its end in this process, without its log: a fraction of what one of its own takes. */
export async function runHere(words: string[], env: Record<string, string>): Promise<Finished> {
  const printed = { out: "", err: "" };
  const spies = [
    spyOn(console, "log").mockImplementation((text) => void (printed.out += `${text}\n`)),
    spyOn(console, "error").mockImplementation((text) => void (printed.err += `${text}\n`)),
  ];
  // The object itself comes back: a copy of it would set no variable that the runtime reads, such as a proxy's.
  const own = process.env;
  process.env = { LOG_LEVEL: "fatal", ...env };
  try {
    await runCommand(words);
    return { code: 0, ...printed };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { code: 1, out: printed.out, err: `${printed.err}${message}\n` };
  } finally {
    process.env = own;
    for (const spy of spies) spy.mockRestore();
  }
}

/** A server in a process of its own. */
export interface ServerProcess {
  url: string;
  /** What it printed before it listened, that line included. */
  greeting: string;
  /** What it printed until now. */
  printed(): string;
  pid: number;
  signIn(email?: string, password?: string): Promise<Api>;
  kill(signal: "SIGTERM" | "SIGINT" | "SIGKILL"): void;
  exited: Promise<number>;
}

/** Starts `serve` and waits until it listens. No file of its grows beyond `max_file_kb`, as on a full disk. */
export async function startServer(env: Record<string, string>, max_file_kb?: number): Promise<ServerProcess> {
  const limited = ["bash", "-c", `trap "" XFSZ; ulimit -f "$0"; exec bun src/main.ts`, String(max_file_kb)];
  const command = max_file_kb === undefined ? ["bun", "src/main.ts"] : limited;
  const child = Bun.spawn(command, { env, stdout: "pipe", stderr: "inherit" });
  // A test that fails leaves its server behind, and whoever reads our errors would wait for that one too.
  afterEverything(async () => child.kill("SIGKILL"));
  const decoder = new TextDecoder();
  let greeting = "";
  let url: string | undefined;
  const reader = child.stdout.getReader();
  while (url === undefined) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`The server ended before it listened: ${greeting}`);
    greeting += decoder.decode(value, { stream: true });
    url = /listens on (\S+)/.exec(greeting)?.[1];
  }
  let printed = greeting;
  // Drained, so that a full pipe never stops the server.
  void (async () => {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      printed += decoder.decode(read.value, { stream: true });
    }
  })();
  const origin = url;
  return {
    url: origin,
    greeting,
    printed: () => printed,
    pid: child.pid,
    async signIn(email = "admin@example.com", password = PASSWORD) {
      const { status, body } = await apiOf(origin, {})("POST", "/login", { email, password });
      if (status !== 200) throw new Error(`Cannot sign in: ${status} ${JSON.stringify(body)}`);
      return apiOf(origin, { authorization: `Bearer ${body.token}` });
    },
    kill: (signal) => child.kill(signal),
    exited: child.exited,
  };
}
