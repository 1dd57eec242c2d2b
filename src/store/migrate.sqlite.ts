import type { Database } from "bun:sqlite";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { migrate } from "drizzle-orm/bun-sqlite/migrator";

const FOLDER = `${import.meta.dir}/../../data/migrations/sqlite`;

/** Brings a SQLite file up to date, in one transaction; does nothing when it is. */
export function migrateSqlite(database: Database): void {
  // Tables that a migration rebuilds would take their referring rows with them.
  database.run("PRAGMA foreign_keys = OFF");
  migrate(drizzle(database), { migrationsFolder: FOLDER });
  database.run("PRAGMA foreign_keys = ON");
}
