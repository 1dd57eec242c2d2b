import type { PgTable } from "drizzle-orm/pg-core";
import { getTableColumns } from "drizzle-orm";
import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { columnKit } from "./columns.ts";
import { postgresColumns } from "./columns.postgres.ts";
import { runOn } from "./pools.postgres.ts";
import { buildSelect } from "./select_rows.ts";
import { readRows } from "./row_reader.ts";
import type { Reads } from "./store.ts";

const kit = columnKit(postgresColumns);

/** Reads a PostgreSQL database as it is at one instant, on a connection of its own that holds no lock of others up. */
export async function withPostgresSnapshot<T>(url: string, work: (q: Reads) => Promise<T>): Promise<T> {
  const client = postgres(url, {
    max: 1,
    onnotice: () => undefined,
    fetch_types: false,
    connection: { TimeZone: "UTC" },
    connect_timeout: 10,
  });
  try {
    return await drizzle(client).transaction(
      (connection) =>
        work(
          Object.assign(Object.create(connection), {
            use: kit.use,
            run: runOn(connection),
            reads_at_once: true,
          }),
        ),
      { isolationLevel: "repeatable read", accessMode: "read only" },
    );
  } finally {
    await client.end({ timeout: 1 });
  }
}

/** All rows of a table, so many at once; `q` is in a transaction of PostgreSQL's. */
export async function* pagesOf(
  q: Reads,
  table: PgTable,
  rows: number,
): AsyncGenerator<Record<string, unknown>[]> {
  const columns = getTableColumns(table);
  const select = buildSelect(q, table, { columns });
  await q.run(`DECLARE every_row NO SCROLL CURSOR FOR ${select.sql}`, select.params, false);
  for (;;) {
    const page = await q.run(`FETCH ${rows} FROM every_row`, [], false);
    if (page.length > 0) yield readRows(columns, page);
    if (page.length < rows) break;
  }
  await q.run("CLOSE every_row", [], false);
}
