import { TEST_STORE } from "./harness.ts";

/** Why there is no SQLite file beside the usage here, or null: the records are in PostgreSQL then. */
export function whyNoSqlite(): string | null {
  return TEST_STORE === "sqlite" ? null : "tests of records in DATA_DIR: they run on SQLite";
}
