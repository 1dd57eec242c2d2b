import { Database } from "bun:sqlite";
import { writeSynced } from "./copy_log.ts";

/** Copies a SQLite database, as it is at one instant, to a new file, while others write. It holds its thread up. */
export function copySqlite(from: string, to: string): void {
  const database = new Database(from, { readonly: true });
  try {
    database.run("PRAGMA busy_timeout = 5000");
    database.query("VACUUM INTO ?").run(to);
  } finally {
    database.close();
  }
}

/** Copies it page by page, for its log to be replayed on: a copy by `copySqlite` has its rows in other pages. */
export function copyPages(from: string, to: string): void {
  const database = new Database(from, { readonly: true });
  try {
    database.run("PRAGMA busy_timeout = 5000");
    writeSynced(to, [database.serialize()]);
  } finally {
    database.close();
  }
}
