import postgres from "postgres";
import { migratePostgres } from "../../src/store/migrate.postgres.ts";
import { startPostgres } from "./postgres_server.ts";
import { afterEverything } from "./preload.ts";

/** Databases on a real PostgreSQL server. */
interface TestPostgres {
  /** Makes an empty database and answers its address. */
  createDatabase(): Promise<string>;
  /** Copies a database that was migrated once: a fraction of what migrating takes. */
  createMigrated(): Promise<string>;
  /** Copies the database at an address, which nobody may be connected to. */
  copy(url: string): Promise<string>;
}

let opened: Promise<TestPostgres> | undefined;

/** The server at TEST_POSTGRES, or one that is started on the first call and stopped after all test files. */
export function testPostgres(): Promise<TestPostgres> {
  opened ??= open();
  return opened;
}

async function open(): Promise<TestPostgres> {
  const shared = process.env.TEST_POSTGRES;
  const server = shared === undefined ? await startPostgres() : { url: shared, stop: async () => undefined };
  const address = (database: string) => `${server.url}/${database}`;
  const admin = postgres(address("postgres"), { max: 1, fetch_types: false, onnotice: () => undefined });
  // A server of ours ends with our tests; a shared one stays, and what was migrated on it serves all our files.
  if (shared === undefined) {
    afterEverything(async () => {
      opened = undefined;
      await admin.end();
      await server.stop();
    });
  }
  let template: Promise<string> | undefined;
  const migrate = async () => {
    const url = address(await createOn(admin));
    await migratePostgres(url);
    return url;
  };
  const copy = async (url: string) =>
    address(await createOn(admin, `TEMPLATE ${new URL(url).pathname.slice(1)} STRATEGY FILE_COPY`));
  return {
    createDatabase: async () => address(await createOn(admin)),
    async createMigrated() {
      template ??= migrate();
      return copy(await template);
    },
    copy,
  };
}

let count = 0;

/** Makes a database under a name that no other process takes. */
async function createOn(admin: postgres.Sql, words = ""): Promise<string> {
  const name = `test_${process.pid}_${++count}`;
  await admin.unsafe(`CREATE DATABASE ${name} ${words}`);
  return name;
}

/** Ends the sessions that hold a lock on this database, and no other database's: test files share the server. */
export async function endLockHolders(admin: postgres.Sql): Promise<void> {
  await admin`
    SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
    WHERE l.locktype = 'advisory' AND d.datname = current_database()`;
}
