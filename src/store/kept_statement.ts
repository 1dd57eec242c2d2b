import { fillPlaceholders } from "drizzle-orm";
import { oncePerDialect } from "./once_per_dialect.ts";
import type { Queries } from "./store.ts";

interface Built {
  toSQL(): { sql: string; params: unknown[] };
}

/**
 * A statement whose text is written once in each dialect, with `sql.placeholder` for its values; it returns the driver's
 * values of each row. For what runs on many requests: writing a text takes longer than running it. A null has no
 * column to encode it: give such a value as the driver takes it, in SQL of its own.
 */
export function keptStatement(
  build: (q: Queries) => Built,
): (q: Queries, values: Record<string, unknown>) => Promise<unknown[][]> {
  const kept = oncePerDialect((q: Queries) => build(q).toSQL());
  return (q, values) => {
    const { sql, params } = kept(q);
    return q.run(sql, fillPlaceholders(params, values), true);
  };
}
