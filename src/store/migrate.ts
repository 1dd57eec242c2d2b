import type { Database } from "bun:sqlite";
import { drizzle as drizzleSqlite } from "drizzle-orm/bun-sqlite";
import { migrate as runSqlite } from "drizzle-orm/bun-sqlite/migrator";
import { drizzle as drizzlePostgres } from "drizzle-orm/postgres-js";
import { migrate as runPostgres } from "drizzle-orm/postgres-js/migrator";
import postgres from "postgres";
import { sqlState } from "./constraints.ts";

const FOLDER = `${import.meta.dir}/../../data/migrations`;
/** Any number that no other program locks in this database. */
const INSUFFICIENT_PRIVILEGE = "42501";
const ADVISORY_LOCK = 6_283_185_307;

/** Brings a SQLite file up to date, in one transaction; does nothing when it is. */
export function migrateSqlite(database: Database): void {
  // Tables that a migration rebuilds would take their referring rows with them.
  database.run("PRAGMA foreign_keys = OFF");
  runSqlite(drizzleSqlite(database), { migrationsFolder: `${FOLDER}/sqlite` });
  database.run("PRAGMA foreign_keys = ON");
}

/**
 * Brings a PostgreSQL database up to date. Instances that start together wait for one another. Errors: throws what
 * the role lacks when it may not.
 */
export async function migratePostgres(url: string): Promise<void> {
  const connection = postgres(url, {
    max: 1,
    fetch_types: false,
    onnotice: () => undefined,
    connect_timeout: 10,
  });
  try {
    await connection`SELECT pg_advisory_lock(${ADVISORY_LOCK}::bigint)`;
    await runPostgres(drizzlePostgres(connection), { migrationsFolder: `${FOLDER}/postgres` });
  } catch (error) {
    if (sqlState(error) !== INSUFFICIENT_PRIVILEGE) throw error;
    const [row] = await connection`SELECT current_user AS role, current_database() AS database`;
    const { role = "?", database = "?" } = row ?? {};
    throw new Error(
      `role ${role} may not create schemas and tables there; run as the database's owner: GRANT CREATE ON DATABASE "${database}" TO "${role}"; GRANT USAGE, CREATE ON SCHEMA public TO "${role}";`,
      { cause: error },
    );
  } finally {
    await connection.end({ timeout: 5 });
  }
}
