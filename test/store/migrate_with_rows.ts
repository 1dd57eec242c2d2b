import { Database } from "bun:sqlite";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { TEST_STORE } from "../support/harness.ts";
import { testPostgres } from "../support/postgres.ts";

/**
 * What a query finds after the migration `name` in a database that had rows before it. Statements are SQL that both
 * dialects take.
 */
export async function migrateWithRows(
  name: string,
  rows: readonly string[],
  query: string,
): Promise<Record<string, unknown>[]> {
  const folder = join(import.meta.dir, "../../data/migrations", TEST_STORE);
  const { entries } = JSON.parse(readFileSync(join(folder, "meta/_journal.json"), "utf8"));
  const tags: string[] = entries.map(({ tag }: { tag: string }) => tag);
  const at = tags.findIndex((tag) => tag.endsWith(`_${name}`));
  if (at === -1) throw new Error(`There is no migration ${name}`);
  const statements = (tag: string) =>
    readFileSync(join(folder, `${tag}.sql`), "utf8").split("--> statement-breakpoint");
  const all = [...tags.slice(0, at).flatMap(statements), ...rows, ...statements(tags[at] ?? "")];

  if (TEST_STORE === "postgres") {
    const sql = postgres(await (await testPostgres()).createDatabase(), { max: 1 });
    try {
      for (const statement of all) await sql.unsafe(statement);
      return [...(await sql.unsafe(query))];
    } finally {
      await sql.end();
    }
  }
  const database = new Database(":memory:");
  database.run("PRAGMA foreign_keys = ON");
  for (const statement of all) database.run(statement);
  return database.query<Record<string, unknown>, []>(query).all();
}
