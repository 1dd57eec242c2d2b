import { join } from "node:path";
import type { Json } from "@duckdb/node-api";
import postgres from "postgres";
import type { Cleanup } from "../cleanup.ts";
import { startPostgres } from "../postgres_server.ts";
import { timeEach } from "../stats.ts";
import {
  columnList,
  eventColumns,
  type Peer,
  type PeerData,
  SUBSCRIPTION_COLUMNS,
  subscriptionsSql,
} from "./peer.ts";

/** Only names the socket: it listens on no port. */
const PORT = 5432;

/** PostgreSQL with an index that answers sums by itself, queried over its socket. */
export async function openPostgres(cleanup: Cleanup, data: PeerData): Promise<Peer> {
  const { databaseDir, stop } = await startPostgres(cleanup, PORT, "");
  const sql = postgres({
    path: join(databaseDir, `.s.PGSQL.${PORT}`),
    user: "postgres",
    password: "postgres",
    max: 1,
    onnotice: () => undefined,
  });
  await load(sql, data);
  const [version] = await sql<{ server_version: string }[]>`SHOW server_version`;
  const query = async (statements: readonly string[]): Promise<Json[][][]> => {
    const results: Json[][][] = [];
    for (const statement of statements)
      results.push((await sql.unsafe(statement, [], { prepare: true }).values()) as Json[][]);
    return results;
  };
  return {
    version: `PostgreSQL ${version?.server_version}`,
    dividing: (dividend, divisor) => `${dividend} / ${divisor}`,
    query,
    measure: (statements, bounds) => timeEach(bounds, () => query(statements)),
    async close() {
      await sql.end();
      await stop();
    },
  };
}

async function load(sql: postgres.Sql, data: PeerData): Promise<void> {
  const columns = eventColumns({ whole: "integer", big: "bigint", uuid: "uuid", text: "text" });
  const subscription_columns = SUBSCRIPTION_COLUMNS.map((name) => `${name} integer`).join(", ");
  await sql.begin(async (tx) => {
    await tx.unsafe(`CREATE TABLE events (${columnList(columns)})`);
    await tx.unsafe(`COPY events FROM '${data.events}' (FORMAT csv, FREEZE)`);
    await tx.unsafe(`CREATE TABLE subscriptions (${subscription_columns}, PRIMARY KEY (id))`);
    await tx.unsafe(subscriptionsSql(data));
  });
  await sql.unsafe(
    "CREATE INDEX events_company ON events (company_id, timestamp) INCLUDE (usage, subscription_id)",
  );
  await sql.unsafe("VACUUM (ANALYZE) events");
  await sql.unsafe("ANALYZE subscriptions");
}
