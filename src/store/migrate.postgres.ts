import { drizzle } from "drizzle-orm/postgres-js";
import { migrate } from "drizzle-orm/postgres-js/migrator";
import postgres from "postgres";
import { unmendable } from "../core/exit_codes.ts";
import { sqlState } from "./constraints.ts";

const FOLDER = `${import.meta.dir}/../../data/migrations/postgres`;
const INSUFFICIENT_PRIVILEGE = "42501";
/** Any number that no other program locks in this database. */
const ADVISORY_LOCK = 6_283_185_307;

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
    await migrate(drizzle(connection), { migrationsFolder: FOLDER });
  } catch (error) {
    if (sqlState(error) !== INSUFFICIENT_PRIVILEGE) throw error;
    const [row] = await connection`SELECT current_user AS role, current_database() AS database`;
    const { role = "?", database = "?" } = row ?? {};
    throw unmendable(
      `role ${role} may not create schemas and tables there; run as the database's owner: GRANT CREATE ON DATABASE "${database}" TO "${role}"; GRANT USAGE, CREATE ON SCHEMA public TO "${role}";`,
      error,
    );
  } finally {
    await connection.end({ timeout: 5 });
  }
}
