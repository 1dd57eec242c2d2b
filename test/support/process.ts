import { spyOn } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "../../src/cli/run.ts";
import { startServing } from "../../src/cli/start_serving.ts";
import { readConfig } from "../../src/core/config.ts";
import { exitCodeOf } from "../../src/core/exit_codes.ts";
import { openDeps } from "../../src/server/open_deps.ts";
import { type Api, apiOf, PASSWORD, TEST_STORE } from "./harness.ts";
import { CHEAP } from "./password_cost.ts";
import { testPostgres } from "./postgres.ts";
import { afterEverything } from "./preload.ts";

/** A data directory, and the settings with which commands use it. */
export interface CommandFolder {
  data_dir: string;
  env: Record<string, string>;
  remove(): void;
}

/** A folder and a database that nothing was ever started on. */
export async function makeCommandFolder(): Promise<CommandFolder> {
  return commandFolder(TEST_STORE === "postgres" ? await (await testPostgres()).createDatabase() : undefined);
}

function commandFolder(DATABASE_URL: string | undefined): CommandFolder {
  const data_dir = mkdtempSync(join(tmpdir(), "meterhouse-"));
  const { PATH = "", HOME = tmpdir() } = process.env;
  const env = {
    PATH,
    // Below it Bun keeps large modules as it runs them: without it each process reads them anew.
    HOME,
    DATA_DIR: data_dir,
    HOST: "127.0.0.1",
    PORT: "0",
    ADMIN_EMAIL: "admin@example.com",
    ADMIN_PASSWORD: PASSWORD,
    UV_THREADPOOL_SIZE: "16",
    DISK_RESERVE: "0",
    ...(DATABASE_URL === undefined ? {} : { DATABASE_URL }),
  };
  return { data_dir, env, remove: () => rmSync(data_dir, { recursive: true, force: true }) };
}

/** What a folder held: its folders and files by their paths, and its database on PostgreSQL. */
interface Prepared {
  folders: readonly string[];
  files: readonly { path: string; content: Uint8Array; mode: number }[];
  database_url: string | undefined;
}

// In memory: what a test file leaves on disk goes with it, and those after it want the same.
let prepared: Promise<Prepared> | undefined;

/** A copy of a folder that was served once: migrated, with a first company whose admin's password hash is cheap. */
export async function makePreparedFolder(): Promise<CommandFolder> {
  prepared ??= prepare();
  const { folders, files, database_url: url } = await prepared;
  const folder = commandFolder(url === undefined ? undefined : await (await testPostgres()).copy(url));
  for (const path of folders) mkdirSync(join(folder.data_dir, path), { mode: 0o700 });
  for (const { path, content, mode } of files) writeFileSync(join(folder.data_dir, path), content, { mode });
  return folder;
}

async function prepare(): Promise<Prepared> {
  const folder = await makeCommandFolder();
  const { data_dir, env } = folder;
  const { DATABASE_URL: database_url } = env;
  // A server of our own ends with this file, and the database with it.
  if (database_url !== undefined && process.env.TEST_POSTGRES === undefined)
    afterEverything(async () => {
      prepared = undefined;
    });
  try {
    await serveHere(env, () => Promise.resolve());
    const entries = readdirSync(data_dir, { recursive: true }).map(String).toSorted();
    const modeOf = (path: string) => statSync(join(data_dir, path)).mode;
    const folders = entries.filter((path) => statSync(join(data_dir, path)).isDirectory());
    const files = entries
      .filter((path) => !folders.includes(path))
      .map((path) => ({ path, content: readFileSync(join(data_dir, path)), mode: modeOf(path) }));
    return { folders, files, database_url };
  } finally {
    folder.remove();
  }
}

/** Serves a folder in this process while `work` goes on, then stops in order. Errors: throws what stops the start. */
export async function serveHere<T>(
  env: Record<string, string>,
  work: (api: Api, served: Served) => Promise<T>,
): Promise<T> {
  const config = readConfig({ LOG_LEVEL: "fatal", ...env });
  const deps = await openDeps(config, { password_cost: CHEAP });
  const greeting = spyOn(console, "log").mockImplementation(() => undefined);
  const serving = await startServing(deps).finally(() => greeting.mockRestore());
  const { url } = serving.server;
  try {
    const signIn = signInAt(url);
    return await work(await signIn(), { url, signIn });
  } finally {
    await serving.stop();
  }
}

/** A service that listens. */
export interface Served {
  url: string;
  /** Signs a user in, or the first company's admin. */
  signIn: (email?: string, password?: string) => Promise<Api>;
}

function signInAt(url: string): Served["signIn"] {
  return async (email = "admin@example.com", password = PASSWORD) => {
    const { status, body } = await apiOf(url, {})("POST", "/login", { email, password });
    if (status !== 200) throw new Error(`Cannot sign in: ${status} ${JSON.stringify(body)}`);
    return apiOf(url, { authorization: `Bearer ${body.token}` });
  };
}

export interface Finished {
  code: number;
  out: string;
  err: string;
}

/** What processes run: the sources, or an executable of `bun run compile` that TEST_PROGRAM names. */
const TESTED = process.env.TEST_PROGRAM ?? "src/main.ts";

const commandOf = (program: string) => (program.endsWith(".ts") ? ["bun", program] : [program]);

/** What starts it, before the words of a command. */
export const TESTED_COMMAND: readonly string[] = commandOf(TESTED);

/** Runs one command to its end. */
export async function run(
  words: string[],
  env: Record<string, string>,
  program = TESTED,
  cwd = ".",
): Promise<Finished> {
  const command = [...commandOf(program), ...words];
  const child = Bun.spawn(command, { env, cwd, stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { code: await child.exited, out, err };
}

/**
 * Runs one command to its end in this process, without its log: a fraction of what one of its own takes. With
 * TEST_COMMANDS=apart it gets one.
 */
export async function runHere(words: string[], env: Record<string, string>): Promise<Finished> {
  if (process.env.TEST_COMMANDS === "apart") return run(words, { LOG_LEVEL: "fatal", ...env });
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
    return { code: exitCodeOf(error), out: printed.out, err: `${printed.err}${message}\n` };
  } finally {
    process.env = own;
    for (const spy of spies) spy.mockRestore();
  }
}

/** A server in a process of its own. */
export interface ServerProcess extends Served {
  /** What it printed before it listened, that line included. */
  greeting: string;
  /** What it printed until now. */
  printed(): string;
  pid: number;
  kill(signal: "SIGTERM" | "SIGINT" | "SIGKILL"): void;
  exited: Promise<number>;
}

/**
 * Starts `serve` and waits until it listens. No file of its grows beyond `max_file_kb`, as on a full disk. `program`: an
 * executable, or a file that imports src/main.ts after it has changed something. `words`: of the command line.
 */
export async function startServer(
  env: Record<string, string>,
  max_file_kb?: number,
  program = TESTED,
  cwd = ".",
  words: readonly string[] = [],
): Promise<ServerProcess> {
  const limited = ["bash", "-c", `trap "" XFSZ; ulimit -f "$0"; exec "$@"`, String(max_file_kb)];
  const command = [...(max_file_kb === undefined ? [] : limited), ...commandOf(program), ...words];
  const child = Bun.spawn(command, { env, cwd, stdout: "pipe", stderr: "inherit" });
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
    signIn: signInAt(origin),
    kill: (signal) => child.kill(signal),
    exited: child.exited,
  };
}
