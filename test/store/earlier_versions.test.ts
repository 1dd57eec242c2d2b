import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { migratePostgres } from "../../src/store/migrate.postgres.ts";
import { migrateSqlite } from "../../src/store/migrate.sqlite.ts";
import { openPasswords } from "../../src/core/passwords.ts";
import { PASSWORD, TEST_STORE } from "../support/harness.ts";
import { CHEAP } from "../support/password_cost.ts";
import { testPostgres } from "../support/postgres.ts";
import { makeCommandFolder, serveHere } from "../support/process.ts";

// Databases that programs of every version before this one left behind, with rows.

const MIGRATIONS = join(import.meta.dir, "../../data/migrations", TEST_STORE);
const journal = JSON.parse(readFileSync(join(MIGRATIONS, "meta/_journal.json"), "utf8"));
const TAGS: string[] = journal.entries.map(({ tag }: { tag: string }) => tag);
/** Each costs a database: on PostgreSQL a few; `ALL_VERSIONS=1` tries all there too. */
const VERSIONS =
  TEST_STORE === "sqlite" || process.env.ALL_VERSIONS !== undefined
    ? TAGS
    : [...TAGS.slice(0, 1), ...TAGS.slice(-3)];

const scratch = mkdtempSync(join(tmpdir(), "versions-"));
afterAll(() => rmSync(scratch, { recursive: true }));
const password_hash = await openPasswords(CHEAP).hash(PASSWORD);

const folders = new Map<string, string>();

/** The migrations as the program of a version had them. */
function migrationsOf(version: string): string {
  const known = folders.get(version);
  if (known !== undefined) return known;
  const folder = join(scratch, version);
  folders.set(version, folder);
  cpSync(MIGRATIONS, folder, { recursive: true, filter: (path) => !path.endsWith("_snapshot.json") });
  const entries = journal.entries.slice(0, TAGS.indexOf(version) + 1);
  writeFileSync(join(folder, "meta/_journal.json"), JSON.stringify({ ...journal, entries }));
  return folder;
}

/** The statements that programs up to a version wrote, by the version that wrote them. */
function rowsUntil(version: string): { since: string; statements: string[] }[] {
  const [, ...parts] = readFileSync(join(import.meta.dir, "earlier_versions.sql"), "utf8").split(
    /^-- since (\S+)$/m,
  );
  return parts.flatMap((since, i) => {
    if (i % 2 === 1) return [];
    if (!TAGS.includes(since)) throw new Error(`There is no version ${since}`);
    return since <= version ? [{ since, statements: statementsOf(parts[i + 1] ?? "") }] : [];
  });
}

function statementsOf(text: string): string[] {
  const filled = text.replaceAll("$HASH", password_hash);
  const sql =
    TEST_STORE === "postgres"
      ? filled
      : filled.replace(/\b(TRUE|FALSE)\b/g, (word) => (word === "TRUE" ? "1" : "0"));
  return sql.split(/;\n/).filter((one) => one.trim() !== "");
}

/** How a test runs SQL on a database, whichever it is. */
interface Opened {
  run(sql: string): Promise<unknown[]>;
  migrate(folder?: string): Promise<void>;
  close(): Promise<void>;
}

async function openAt(path: string, url: string | undefined): Promise<Opened> {
  if (url === undefined) {
    const database = new Database(path);
    return {
      run: async (sql) => database.query(sql).all(),
      migrate: async (folder) => migrateSqlite(database, folder),
      close: async () => database.close(),
    };
  }
  const connection = postgres(url, { max: 1, onnotice: () => undefined });
  return {
    run: async (sql) => [...(await connection.unsafe(sql))],
    migrate: (folder) => migratePostgres(url, { ...(folder !== undefined && { folder }), backed_up: true }),
    close: () => connection.end(),
  };
}

/** A database as a program of the version left it, with its rows. */
async function makeDatabase(version: string, path: string, url: string | undefined): Promise<Opened> {
  const opened = await openAt(path, url);
  for (const { since, statements } of rowsUntil(version)) {
    await opened.migrate(migrationsOf(since));
    for (const statement of statements) await opened.run(statement);
  }
  await opened.migrate(migrationsOf(version));
  if (TEST_STORE === "postgres") {
    for (const table of ["companies", "clients", "users", "products", "subscriptions"])
      await opened.run(`SELECT setval(pg_get_serial_sequence('${table}', 'id'), 100)`);
  }
  return opened;
}

const newUrl = async () =>
  TEST_STORE === "postgres" ? await (await testPostgres()).createDatabase() : undefined;

/** The columns and indexes of all tables. */
function structureOf(opened: Opened): Promise<unknown[]> {
  return opened.run(
    TEST_STORE === "postgres"
      ? `SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns
          WHERE table_schema = 'public' ORDER BY 1, 2`
      : `SELECT t.name, c.name AS column_name, c.type, c."notnull" FROM sqlite_master t, pragma_table_info(t.name) c
          WHERE t.type = 'table' ORDER BY 1, 2`,
  );
}

describe("a database of", () => {
  let present: Promise<unknown[]> | undefined;
  const presentStructure = async () => {
    const opened = await openAt(join(scratch, "present.sqlite"), await newUrl());
    await opened.migrate();
    const structure = await structureOf(opened);
    await opened.close();
    return structure;
  };

  test.each(VERSIONS)("%s has the present tables after the upgrade, and its rows", async (version) => {
    const opened = await makeDatabase(version, join(scratch, `${version}.sqlite`), await newUrl());
    const tables = ["clients", "users", "subscriptions", "billing_records", "company_timezones"];
    const rows = () => Promise.all(tables.map((table) => opened.run(`SELECT count(*) AS n FROM ${table}`)));
    const before = await rows();
    await opened.migrate();
    expect(await rows()).toEqual(before);
    expect(await structureOf(opened)).toEqual(await (present ??= presentStructure()));
    if (TEST_STORE === "sqlite") expect(await opened.run("PRAGMA foreign_key_check")).toEqual([]);
    await opened.close();
  });

  const [oldest = ""] = TAGS;
  test(`${oldest} is served: its rows are read, and new ones written`, async () => {
    const place = await makeCommandFolder();
    const path = join(place.data_dir, "meterhouse.sqlite");
    await (await makeDatabase(oldest, path, place.env.DATABASE_URL)).close();
    await serveHere(place.env, async (api) => {
      const names = async (line: string) =>
        (await api("GET", line)).body.data.map(({ name }: { name: string }) => name);
      expect(await names("/clients")).toEqual(["Client One"]);
      expect(await names("/subscriptions")).toEqual(["One"]);
      expect((await api("GET", "/billing-records")).body.data).toMatchObject([{ totalCharges: "5.00" }]);
      const event = { external_subscription_id: "s1", usage: 3, timestamp: Date.parse("2026-03-01") };
      expect((await api("POST", "/usage/events", event)).body.data.accepted).toBe(1);
      expect((await api("POST", "/clients", { name: "New" })).status).toBe(201);
      expect(await names("/clients")).toEqual(["Client One", "New"]);
    });
    place.remove();
  });
});
