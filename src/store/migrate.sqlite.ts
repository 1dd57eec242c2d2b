import type { Database } from "bun:sqlite";
import { renameSync, rmSync } from "node:fs";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { migrate } from "drizzle-orm/bun-sqlite/migrator";
import { admitProgram } from "../core/min_program.ts";
import { programFile } from "../core/program_files.ts";
import { MIN_PROGRAM, pendingMinProgram } from "./min_program.ts";

const FOLDER = programFile("data/migrations/sqlite");

/**
 * Brings a SQLite file up to date, in one transaction; does nothing when it is. Before a migration after which this
 * program's predecessors can't use it, it is copied to `<file>.before-<version>`. Errors: exit 78 when it is of a
 * newer program.
 */
export function migrateSqlite(database: Database, folder = FOLDER): void {
  const has = (table: string) =>
    database.query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(table) !== null;
  if (has("program_requirement"))
    admitProgram(database.query<{ min_program: string }, []>(MIN_PROGRAM).get()?.min_program);
  const last = has("__drizzle_migrations")
    ? database.query<{ last: number }, []>("SELECT max(created_at) AS last FROM __drizzle_migrations").get()
    : undefined;
  const raised = pendingMinProgram(folder, last?.last ?? undefined);
  if (raised !== undefined) saveBefore(database, raised);
  // Tables that a migration rebuilds would take their referring rows with them.
  database.run("PRAGMA foreign_keys = OFF");
  migrate(drizzle(database), { migrationsFolder: folder });
  database.run("PRAGMA foreign_keys = ON");
}

/** Copies the file, as a whole or not at all; over the copy of an upgrade that failed. */
function saveBefore(database: Database, version: string): void {
  const copy = `${database.filename}.before-${version}`;
  rmSync(`${copy}.new`, { force: true });
  database.query("VACUUM INTO ?").run(`${copy}.new`);
  renameSync(`${copy}.new`, copy);
}
