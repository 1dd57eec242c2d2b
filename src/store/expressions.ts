import { type AnyColumn, type SQL, sql } from "drizzle-orm";

// The few SQL fragments that queries share. Both dialects read them alike.

/** Whether the text contains `part`, whatever the case; % and _ stand for themselves. */
export function contains(column: AnyColumn, part: string): SQL {
  const pattern = `%${part.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`;
  return sql`lower(${column}) LIKE ${pattern} ESCAPE '\\'`;
}
