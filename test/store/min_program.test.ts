import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { DuckDBInstance } from "@duckdb/node-api";
import packageJson from "../../package.json" with { type: "json" };
import { exitCodeOf } from "../../src/core/exit_codes.ts";
import { migratePostgres } from "../../src/store/migrate.postgres.ts";
import { migrateSqlite } from "../../src/store/migrate.sqlite.ts";
import { TEST_STORE } from "../support/harness.ts";
import { testPostgres } from "../support/postgres.ts";
import { type CommandFolder, makePreparedFolder, runHere, serveHere } from "../support/process.ts";

const NEWER = "99.1.0";
const RAISE = `UPDATE program_requirement SET min_program = '${NEWER}'`;
const MIGRATIONS = join(import.meta.dir, "../../data/migrations");

const folder = mkdtempSync(join(tmpdir(), "min-program-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function runSql({ data_dir, env }: CommandFolder, sql: string): Promise<void> {
  if (env.DATABASE_URL === undefined) {
    const database = new Database(`${data_dir}/meterhouse.sqlite`);
    database.run(sql);
    database.close();
    return;
  }
  const connection = postgres(env.DATABASE_URL, { max: 1 });
  await connection.unsafe(sql);
  await connection.end();
}

test("records of a newer program are refused by serve and by migrate, both versions named, and nothing changes", async () => {
  const prepared = await makePreparedFolder();
  await runSql(prepared, RAISE);
  for (const words of [["serve"], ["migrate"]]) {
    const { code, err } = await runHere(words, prepared.env);
    expect([code, err]).toEqual([78, expect.stringContaining(`needs Meterhouse ${NEWER} or newer`)]);
    expect(err).toContain(`this is ${packageJson.version}`);
  }
  // A newer program whose tables this one can use has left its mark, and no more.
  await runSql(prepared, `UPDATE program_requirement SET min_program = '${packageJson.version}'`);
  await serveHere(prepared.env, async (api) => expect((await api("GET", "/clients")).status).toBe(200));
  prepared.remove();
});

test("a usage store of a newer program is refused, both versions named, and stays as it is", async () => {
  const prepared = await makePreparedFolder();
  const path = join(prepared.data_dir, "usage.duckdb");
  const runOn = async (sql: string) => {
    const instance = await DuckDBInstance.create(path);
    const connection = await instance.connect();
    const rows = (await connection.runAndReadAll(sql)).getRows();
    connection.closeSync();
    instance.closeSync();
    return rows;
  };
  await runOn(`UPDATE usage_meta SET value = '${NEWER}' WHERE name = 'min_program'`);
  await runOn("DROP VIEW usage_hours");
  const { code, err } = await runHere(["serve"], prepared.env);
  expect(code).toBe(78);
  expect(err).toContain(`needs Meterhouse ${NEWER} or newer, and this is ${packageJson.version}`);
  expect(await runOn("SELECT count(*) FROM duckdb_views() WHERE view_name = 'usage_hours'")).toEqual([[0n]]);
  prepared.remove();
});

/** The migrations of a dialect and one more, which raises what the database demands. */
function raisingMigrations(dialect: "sqlite" | "postgres", version: string): string {
  const own = join(mkdtempSync(join(folder, "m-")), dialect);
  cpSync(join(MIGRATIONS, dialect), own, { recursive: true });
  const path = join(own, "meta/_journal.json");
  const journal = JSON.parse(readFileSync(path, "utf8"));
  const last = journal.entries.at(-1);
  const tag = "9999_raise";
  journal.entries.push({ ...last, idx: last.idx + 1, when: last.when + 1, tag });
  writeFileSync(path, JSON.stringify(journal));
  writeFileSync(join(own, `${tag}.sql`), "CREATE TABLE newer (id integer);\n--> statement-breakpoint\n");
  appendFileSync(join(own, `${tag}.sql`), `UPDATE program_requirement SET min_program = '${version}';`);
  return own;
}

describe("a migration that raises the demand", () => {
  test.skipIf(TEST_STORE !== "sqlite")("copies SQLite's file first, with the rows as they were", () => {
    const path = join(folder, "raised.sqlite");
    const database = new Database(path);
    migrateSqlite(database);
    expect(existsSync(`${path}.before-${NEWER}`)).toBe(false);
    database.run("INSERT INTO ended_tokens VALUES ('kept', '2026-01-01')");
    migrateSqlite(database, raisingMigrations("sqlite", NEWER));
    expect(database.query("SELECT min_program FROM program_requirement").values()).toEqual([[NEWER]]);
    const copy = new Database(`${path}.before-${NEWER}`);
    expect(copy.query("SELECT token_id FROM ended_tokens").values()).toEqual([["kept"]]);
    expect(copy.query("SELECT count(*) FROM sqlite_master WHERE name = 'newer'").values()).toEqual([[0]]);
    // The copy is what the program before goes on with.
    migrateSqlite(copy);
    expect(() => migrateSqlite(database)).toThrow(`needs Meterhouse ${NEWER}`);
    database.close();
    copy.close();
  });

  test.skipIf(TEST_STORE !== "postgres")("wants PostgreSQL backed up, by the operator's word", async () => {
    const url = await (await testPostgres()).createMigrated();
    const own = raisingMigrations("postgres", NEWER);
    const refused = await migratePostgres(url, { folder: own }).catch((error: unknown) => error);
    expect(exitCodeOf(refused)).toBe(78);
    expect(String(refused)).toContain("migrate --backed-up");
    await migratePostgres(url);
    await migratePostgres(url, { folder: own, backed_up: true });
    const older = await migratePostgres(url).catch(String);
    expect(older).toContain(`needs Meterhouse ${NEWER}`);
  });
});

/** The last migration before programs of two versions had to get along with one database. */
const BASELINE = "0017_debit_holds";

/** What a program of the version before could not live with. */
function removals(sql: string): string[] {
  const created = new Set(
    [...sql.matchAll(/CREATE TABLE (?:IF NOT EXISTS )?[`"](\w+)[`"]/gi)].map(([, table]) => table),
  );
  // Rows of a program that does not know a column have nothing there, which no constraint looks at.
  const added = [...sql.matchAll(/\bADD (?:COLUMN )?[`"](\w+)[`"](?! \S+ (?:DEFAULT .*)?NOT NULL)/gi)].map(
    ([, column]) => column,
  );
  const statements = sql
    .split(/--> statement-breakpoint|;\s*$/m)
    .map((one) => one.replace(/^\s*--.*$/gm, "").trim());
  return statements.filter((one) => {
    if (/\b(?:DROP|RENAME)\b|\bALTER COLUMN\b|\bSET NOT NULL\b|^(?:DELETE|TRUNCATE)\b/i.test(one))
      return true;
    if (/^ALTER TABLE.*\bADD\b.*\bNOT NULL\b/is.test(one) && !/\bDEFAULT\b/i.test(one)) return true;
    const table = /^(?:ALTER TABLE|CREATE UNIQUE INDEX\b.*?\bON)\s+(?:"public"\.)?[`"](\w+)[`"]/is.exec(
      one,
    )?.[1];
    const is_stricter = /^CREATE UNIQUE INDEX|\bADD CONSTRAINT\b/i.test(one);
    const columns = /\(([^()]*)\)/.exec(one)?.[1] ?? "";
    if (added.some((column) => new RegExp(`[\`"]${column}[\`"]`).test(columns))) return false;
    return is_stricter && table !== undefined && !created.has(table);
  });
}

describe.each(["sqlite", "postgres"])("migrations for %s", (dialect) => {
  test("only add, unless they raise the program that the database demands", () => {
    const read = (path: string) => readFileSync(join(MIGRATIONS, dialect, path), "utf8");
    const tags: string[] = JSON.parse(read("meta/_journal.json")).entries.map(
      ({ tag }: { tag: string }) => tag,
    );
    const since = tags.slice(tags.indexOf(BASELINE) + 1);
    expect(since.length).toBeGreaterThan(0);
    const found = since.flatMap((tag) => {
      const sql = read(`${tag}.sql`);
      return /UPDATE\s+\S*program_requirement/i.test(sql) ? [] : removals(sql).map((one) => `${tag}: ${one}`);
    });
    expect(found).toEqual([]);
  });
});

test("what counts as a removal", () => {
  const refused = [
    "DROP TABLE `a`;",
    'ALTER TABLE "a" RENAME COLUMN "b" TO "c";',
    "ALTER TABLE `a` ADD `b` text NOT NULL;",
    'ALTER TABLE "a" ALTER COLUMN "b" SET NOT NULL;',
    "CREATE UNIQUE INDEX `i` ON `a` (`b`);",
    'ALTER TABLE "a" ADD CONSTRAINT "c" CHECK (b > 0);',
    "ALTER TABLE `a` ADD `b` text;\n--> statement-breakpoint\nCREATE UNIQUE INDEX `i` ON `a` (`c`);",
    "ALTER TABLE `a` ADD `b` text DEFAULT '' NOT NULL;\n--> statement-breakpoint\nCREATE UNIQUE INDEX `i` ON `a` (`b`);",
    "DELETE FROM `a`;",
  ];
  expect(refused.flatMap(removals)).toHaveLength(refused.length);
  const admitted = [
    "ALTER TABLE `a` ADD `b` text;",
    "ALTER TABLE `a` ADD `b` integer DEFAULT 0 NOT NULL;",
    "CREATE TABLE `a` (`b` text NOT NULL);\n--> statement-breakpoint\nCREATE UNIQUE INDEX `i` ON `a` (`b`);",
    "CREATE INDEX `i` ON `a` (`b`);",
    "ALTER TABLE `a` ADD `b` text;\n--> statement-breakpoint\nCREATE UNIQUE INDEX `i` ON `a` (`b`, `c`);",
    'ALTER TABLE "a" ADD COLUMN "b" bigint;\nALTER TABLE "a" ADD CONSTRAINT "c" FOREIGN KEY ("b") REFERENCES "d"("id");',
  ];
  expect(admitted.flatMap(removals)).toEqual([]);
});
