import { drizzle } from "drizzle-orm/postgres-js";
import { migrate } from "drizzle-orm/postgres-js/migrator";
import postgres from "postgres";
import { programFile } from "../core/program_files.ts";
import { unmendable } from "../core/exit_codes.ts";
import { admitProgram } from "../core/min_program.ts";
import { sqlState } from "./constraints.ts";
import { MIN_PROGRAM, pendingMinProgram } from "./min_program.ts";

const FOLDER = programFile("data/migrations/postgres");
const INSUFFICIENT_PRIVILEGE = "42501";
/** Any number that no other program locks in this database. */
const ADVISORY_LOCK = 6_283_185_307;

/** How to migrate: other migrations are for tests, `backed_up` is the operator's word that a fresh backup is there. */
export interface PostgresMigration {
  folder?: string;
  backed_up?: boolean;
}

/**
 * Brings a PostgreSQL database up to date. Instances that start together wait for one another. Errors: throws what
 * the role lacks when it may not; exit 78 when it is of a newer program, and before a migration after which this
 * program's predecessors can't use it, unless it is backed up.
 */
export async function migratePostgres(
  url: string,
  { folder = FOLDER, backed_up = false }: PostgresMigration = {},
): Promise<void> {
  const connection = postgres(url, {
    max: 1,
    fetch_types: false,
    onnotice: () => undefined,
    connect_timeout: 10,
  });
  try {
    await connection`SELECT pg_advisory_lock(${ADVISORY_LOCK}::bigint)`;
    await admit(connection, folder, backed_up);
    await migrate(drizzle(connection), { migrationsFolder: folder });
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

/** Errors: exit 78. */
async function admit(connection: postgres.Sql, folder: string, backed_up: boolean): Promise<void> {
  const has = async (table: string) => {
    const [row] = await connection`SELECT to_regclass(${table}) IS NOT NULL AS is_there`;
    return row?.is_there === true;
  };
  if (await has("program_requirement")) {
    const [row] = await connection.unsafe<{ min_program: string }[]>(MIN_PROGRAM);
    admitProgram(row?.min_program);
  }
  if (backed_up || !(await has("drizzle.__drizzle_migrations"))) return;
  const [row] = await connection`SELECT max(created_at) AS last FROM drizzle.__drizzle_migrations`;
  const raised = pendingMinProgram(folder, row?.last === null ? undefined : Number(row?.last));
  if (raised === undefined) return;
  throw unmendable(
    `after this upgrade programs before ${raised} can't use it: back it up first, then run migrate --backed-up`,
  );
}
