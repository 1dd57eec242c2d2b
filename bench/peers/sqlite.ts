import { Database } from "bun:sqlite";
import { join } from "node:path";
import type { Json } from "@duckdb/node-api";
import type { Cleanup } from "../cleanup.ts";
import { timeEach } from "../stats.ts";
import {
  columnList,
  eventColumns,
  type Peer,
  type PeerData,
  SUBSCRIPTION_COLUMNS,
  subscriptionsSql,
} from "./peer.ts";

/** SQLite in this process, with an index that answers sums by itself. */
export async function openSqlite(cleanup: Cleanup, data: PeerData): Promise<Peer> {
  const database = new Database(join(cleanup.folder(), "peer.sqlite"));
  // Nothing is measured while it is filled.
  database.run("PRAGMA journal_mode = OFF");
  database.run("PRAGMA synchronous = OFF");
  database.run("PRAGMA cache_size = -1000000");
  database.run("PRAGMA mmap_size = 16000000000");
  const columns = eventColumns({ whole: "INTEGER", big: "INTEGER", uuid: "TEXT", text: "TEXT" });
  database.run(`CREATE TABLE events (${columnList(columns)})`);
  const subscription_columns = SUBSCRIPTION_COLUMNS.slice(1).map((name) => `${name} INTEGER`);
  database.run(`CREATE TABLE subscriptions (id INTEGER PRIMARY KEY, ${subscription_columns.join(", ")})`);
  database.run(subscriptionsSql(data));
  await fill(database, data.events);
  database.run("CREATE INDEX events_company ON events (company_id, timestamp, usage, subscription_id)");
  database.run("ANALYZE");
  const query = async (statements: readonly string[]): Promise<Json[][][]> =>
    statements.map((statement) => database.query<Json, []>(statement).values() as Json[][]);
  return {
    version: `SQLite ${database.query<{ version: string }, []>("SELECT sqlite_version() AS version").get()?.version}`,
    dividing: (dividend, divisor) => `${dividend} / ${divisor}`,
    query,
    measure: (statements, bounds) => timeEach(bounds, () => query(statements)),
    close: async () => database.close(),
  };
}

/** Copies the file row by row: SQLite itself reads CSV only on its command line. */
async function fill(database: Database, events: string): Promise<void> {
  const insert = database.query("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)");
  const decoder = new TextDecoder();
  let rest = "";
  database.run("BEGIN");
  for await (const bytes of Bun.file(events).stream()) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) insert.run(...cellsOf(line));
  }
  database.run("COMMIT");
}

/** Takes apart a line that DuckDB wrote: only metadata is quoted. The columns' types make numbers of digits. */
function cellsOf(line: string): string[] {
  const open = line.indexOf('"');
  const close = line.lastIndexOf('"');
  if (open < 0) throw new Error(`Cannot fill SQLite: there is no metadata in ${line}`);
  const metadata = line.slice(open + 1, close).replaceAll('""', '"');
  return [...line.slice(0, open - 1).split(","), metadata, line.slice(close + 2)];
}
