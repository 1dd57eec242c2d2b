import { join } from "node:path";
import { ClickHouseLogLevel, createClient } from "@clickhouse/client";
import { DuckDBInstance } from "@duckdb/node-api";
import { Type } from "@sinclair/typebox";
import postgres from "postgres";
import { freePort } from "../../test/support/free_port.ts";
import { startClickHouse, whyNoClickHouse } from "../../test/support/clickhouse.ts";
import type { Cleanup } from "../cleanup.ts";
import { startPostgres } from "../postgres_server.ts";
import { shaped } from "../shape.ts";

/** A folder and two databases, which a deployment is moved to. */
export interface Place {
  data_dir: string;
  /** The settings of a service there. */
  settings: { DATA_DIR: string; DATABASE_URL: string; USAGE_URL: string };
}

/** The bytes that a place takes on disk. */
export interface Bytes {
  postgres: number;
  /** Of the events in ClickHouse, all parts of them together. */
  events: number;
  /** Of an event, by column; the rest are indexes, marks and sums by hour. */
  columns: Record<string, number>;
}

const THREADS = 2;
const LOOK_MS = 1_000;
const REST_MS = 5_000;
const REST_LIMIT_MS = 600_000;

const Text = Type.String();
const Rows = Type.Array(Type.Record(Text, Text));

/** The bytes of a DuckDB file that hold something; the others are used again. Nobody may write it. */
export async function usedBytes(file: string): Promise<number> {
  const instance = await DuckDBInstance.create(file, { access_mode: "READ_ONLY" });
  const connection = await instance.connect();
  try {
    const sql = "SELECT block_size * used_blocks FROM pragma_database_size()";
    return Number((await (await connection.run(sql)).getRows())[0]?.[0]);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** PostgreSQL and ClickHouse's engine, each in a process of its own. */
export class Databases {
  readonly #cleanup: Cleanup;
  readonly #postgres: string;
  readonly #newUsage: () => Promise<string>;
  #places = 0;

  private constructor(cleanup: Cleanup, address: string, newUsage: () => Promise<string>) {
    this.#cleanup = cleanup;
    this.#postgres = address;
    this.#newUsage = newUsage;
  }

  static async start(cleanup: Cleanup): Promise<Databases> {
    const reason = whyNoClickHouse();
    if (reason !== null) throw new Error(`Cannot move: ${reason}`);
    const port = await freePort();
    await startPostgres(cleanup, port, "127.0.0.1");
    const engine = await startClickHouse(THREADS);
    cleanup.add(() => engine.stop());
    const address = `postgres://postgres:postgres@127.0.0.1:${port}`;
    return new Databases(cleanup, address, () => engine.createDatabase());
  }

  async emptyPlace(): Promise<Place> {
    const name = `place_${++this.#places}`;
    const sql = postgres(`${this.#postgres}/postgres`, { max: 1, onnotice: () => undefined });
    await sql.unsafe(`CREATE DATABASE ${name}`);
    await sql.end();
    const data_dir = join(this.#cleanup.folder(), "data");
    const DATABASE_URL = `${this.#postgres}/${name}`;
    const settings = { DATA_DIR: data_dir, DATABASE_URL, USAGE_URL: await this.#newUsage() };
    return { data_dir, settings };
  }

  /** What a place takes, once ClickHouse has merged what it merges. */
  async bytesOf({ settings: { DATABASE_URL, USAGE_URL } }: Place): Promise<Bytes> {
    const sql = postgres(DATABASE_URL, { max: 1, onnotice: () => undefined });
    const [size] = await sql<{ bytes: string }[]>`SELECT pg_database_size(current_database()) AS bytes`;
    await sql.end();
    const engine = createClient({ url: USAGE_URL, log: { level: ClickHouseLogLevel.OFF } });
    const ask = async (select: string) => {
      const query = `SELECT ${select} AND active AND database = currentDatabase() AND table = 'usage_events'`;
      const answer = await engine.query({ query, format: "JSONStringsEachRow" });
      return shaped(Rows, await answer.json(), "rows of ClickHouse");
    };
    const parts = async () =>
      (await ask("toString(groupArray(name)) AS parts FROM system.parts WHERE 1"))[0]?.parts;
    try {
      const limit = performance.now() + REST_LIMIT_MS;
      let [seen, since] = [await parts(), performance.now()];
      while (performance.now() - since < REST_MS) {
        if (performance.now() > limit) throw new Error("Cannot go on: ClickHouse does not come to rest");
        await Bun.sleep(LOOK_MS);
        const now = await parts();
        if (now !== seen) [seen, since] = [now, performance.now()];
      }
      const [whole] = await ask("sum(bytes_on_disk) AS bytes FROM system.parts WHERE 1");
      const columns: Record<string, number> = {};
      for (const name of ["id", "metadata", "usage", "timestamp", "subscription_id"]) {
        // Small parts have all columns in one file.
        const [one] = await ask(
          `sum(column_bytes_on_disk) / sum(rows) AS each FROM system.parts_columns WHERE column = '${name}' AND part_type = 'Wide'`,
        );
        columns[name] = Number(one?.each);
      }
      return { postgres: Number(size?.bytes), events: Number(whole?.bytes), columns };
    } finally {
      await engine.close();
    }
  }
}
