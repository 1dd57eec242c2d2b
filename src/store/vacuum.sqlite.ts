import { Database } from "bun:sqlite";

/** Writes a closed SQLite file anew: nothing is left of deleted rows, in it or its log. */
export function vacuumSqlite(file: string): void {
  const database = new Database(file);
  try {
    database.run("VACUUM");
    database.run("PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    database.close();
  }
}
