import { join } from "node:path";
import { DuckDBInstance, type Json } from "@duckdb/node-api";
import type { Cleanup } from "../cleanup.ts";
import { text } from "../queries.ts";
import { ENGINE } from "../raw_usage.ts";
import { timeEach } from "../stats.ts";
import {
  columnList,
  eventColumns,
  type Peer,
  type PeerData,
  SUBSCRIPTION_COLUMNS,
  subscriptionsSql,
} from "./peer.ts";

/** DuckDB in this process: one plain table, its rows in the order in which they came. */
export async function openDuck(cleanup: Cleanup, data: PeerData): Promise<Peer> {
  const instance = await DuckDBInstance.create(join(cleanup.folder(), "peer.duckdb"), ENGINE);
  const connection = await instance.connect();
  const columns = eventColumns({ whole: "INTEGER", big: "BIGINT", uuid: "UUID", text: "VARCHAR" });
  await connection.run(`CREATE TABLE events (${columnList(columns)})`);
  await connection.run(`INSERT INTO events
    SELECT * FROM read_csv('${data.events}', header = false, columns = ${JSON.stringify(columns)})`);
  const subscription_columns = SUBSCRIPTION_COLUMNS.map((name) => `${name} INTEGER`);
  await connection.run(`CREATE TABLE subscriptions (${subscription_columns.join(", ")})`);
  await connection.run(subscriptionsSql(data));
  await connection.run("CHECKPOINT");
  const query = async (statements: readonly string[]): Promise<Json[][][]> => {
    const results: Json[][][] = [];
    for (const statement of statements) results.push(await (await connection.run(statement)).getRowsJson());
    return results;
  };
  const [version] = await query(["SELECT version()"]);
  return {
    version: `DuckDB ${text(version?.[0]?.[0])}`,
    dividing: (dividend, divisor) => `${dividend} // ${divisor}`,
    query,
    measure: (statements, bounds) => timeEach(bounds, () => query(statements)),
    async close() {
      connection.closeSync();
      instance.closeSync();
    },
  };
}
