import { type AnyColumn, type SQL, sql } from "drizzle-orm";

// The few SQL fragments that queries share. Both dialects read them alike.

/**
 * Whether the text contains `part`, whatever the case; % and _ stand for themselves. SQLite folds the case of
 * ASCII letters only: others must be spelled as they are.
 */
export function contains(column: AnyColumn, part: string): SQL {
  const pattern = `%${part.replace(/[\\%_]/g, "\\$&")}%`;
  return sql`lower(${column}) LIKE lower(${pattern}) ESCAPE '\\'`;
}
