import { fillPlaceholders } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { oncePerDialect } from "./once_per_dialect.ts";
import type { RowOf, Selection } from "./row_of.ts";
import { readRows } from "./row_reader.ts";
import { buildSelect, type RowQuery } from "./select_rows.ts";
import type { Reads } from "./store.ts";

/**
 * A query whose text is written once in each dialect, with `sql.placeholder` for its values. For the few that most
 * requests make: `selectRows` writes the conditions anew to know the text again, which takes longer than SQLite does.
 */
export function keptSelect<F extends Selection>(
  describe: (q: Reads) => RowQuery<F> & { table: PgTable },
): (q: Reads, values: Record<string, unknown>) => Promise<RowOf<F>[]> {
  const kept = oncePerDialect((q) => {
    const { table, ...query } = describe(q);
    return { ...buildSelect(q, table, query), columns: query.columns };
  });
  return async (q, values) => {
    const { sql, params, columns } = kept(q);
    return readRows(columns, await q.run(sql, fillPlaceholders(params, values), true));
  };
}
