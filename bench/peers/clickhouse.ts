import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Json } from "@duckdb/node-api";
import type { Cleanup } from "../cleanup.ts";
import { text } from "../queries.ts";
import type { Measured } from "../stats.ts";
import type { Delivery, Order } from "./clickhouse/engine.ts";
import {
  columnList,
  eventColumns,
  type Peer,
  type PeerData,
  SUBSCRIPTION_COLUMNS,
  subscriptionsSql,
} from "./peer.ts";

const FOLDER = join(import.meta.dir, "clickhouse");

/** ClickHouse's engine in a process of its own, its table sorted by company and time. */
export async function openClickHouse(cleanup: Cleanup, data: PeerData): Promise<Peer> {
  if (!existsSync(join(FOLDER, "node_modules/chdb")))
    throw new Error("it is installed by `bun install --cwd bench/peers/clickhouse` (about 550 MB)");
  const engine = new Engine(cleanup);
  const version = await engine.first;
  const columns = eventColumns({ whole: "UInt32", big: "Int64", uuid: "UUID", text: "String" });
  const subscription_columns = SUBSCRIPTION_COLUMNS.map((name) => `${name} UInt32`);
  for (const statement of [
    `CREATE TABLE events (${columnList(columns)}) ENGINE = MergeTree ORDER BY (company_id, timestamp)`,
    `INSERT INTO events SELECT * FROM file('${data.events}', CSV, '${columnList(columns)}')`,
    "OPTIMIZE TABLE events FINAL",
    `CREATE TABLE subscriptions (${subscription_columns.join(", ")}) ENGINE = MergeTree ORDER BY id`,
    subscriptionsSql(data),
  ])
    await engine.run([statement]);
  return {
    version: `ClickHouse ${version} by chdb`,
    dividing: (dividend, divisor) => `intDiv(${dividend}, ${divisor})`,
    query: (statements) => engine.run(statements),
    measure: (statements, bounds) => engine.measure(statements, bounds),
    close: () => engine.close(),
  };
}

/** The engine's process. One order at a time. */
class Engine {
  /** The version, which is its first output. */
  readonly first: Promise<string>;
  readonly #child: Bun.Subprocess;
  #waiting: PromiseWithResolvers<Delivery> = Promise.withResolvers();

  constructor(cleanup: Cleanup) {
    const folder = cleanup.folder();
    this.#child = Bun.spawn(["bun", "bench/main.ts", "--serve-clickhouse", join(folder, "data")], {
      cwd: join(import.meta.dir, "../.."),
      stdout: "ignore",
      stderr: "inherit",
      ipc: (delivery) => this.#waiting.resolve(delivery as Delivery),
      onExit: (_, code) => this.#waiting.reject(new Error(`its process ended with ${code}`)),
    });
    cleanup.add(() => this.close());
    this.first = this.#results().then((results) => text(results[0]?.[0]?.[0]));
  }

  run(statements: readonly string[]): Promise<Json[][][]> {
    this.#send({ statements: [...statements] });
    return this.#results();
  }

  async measure(
    statements: readonly string[],
    bounds: { times: number; seconds: number },
  ): Promise<Measured> {
    this.#send({ statements: [...statements], bounds });
    const delivery = await this.#waiting.promise;
    if ("measured" in delivery) return delivery.measured;
    throw new Error(`Cannot measure ClickHouse: ${"error" in delivery ? delivery.error : "no figures came"}`);
  }

  async close(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.exited;
  }

  #send(order: Order): void {
    this.#waiting = Promise.withResolvers();
    this.#child.send(order);
  }

  async #results(): Promise<Json[][][]> {
    const delivery = await this.#waiting.promise;
    if ("results" in delivery) return delivery.results;
    throw new Error(`Cannot query ClickHouse: ${"error" in delivery ? delivery.error : "no rows came"}`);
  }
}
