import { readMigrationFiles } from "drizzle-orm/migrator";

/** SQL of the oldest program that may use the database. The table is the migrations' own: no family reads it. */
export const MIN_PROGRAM = "SELECT min_program FROM program_requirement";

/** How a migration raises it. */
const RAISING = /UPDATE\s+[`"]?program_requirement[`"]?\s+SET\s+[`"]?min_program[`"]?\s*=\s*'([^']+)'/gi;

/**
 * The oldest program after the migrations that a database lacks, undefined when they leave it as it is. `last`: the
 * time of its last migration, undefined for a new database.
 */
export function pendingMinProgram(folder: string, last: number | undefined): string | undefined {
  if (last === undefined) return undefined;
  return readMigrationFiles({ migrationsFolder: folder })
    .filter(({ folderMillis }) => folderMillis > last)
    .flatMap(({ sql }) => sql)
    .flatMap((sql) => [...sql.matchAll(RAISING)])
    .at(-1)?.[1];
}
