import { join } from "node:path";
import {
  BIGINT,
  DECIMAL,
  type DuckDBConnection,
  DuckDBDataChunk,
  DuckDBDecimalValue,
  DuckDBInstance,
  DuckDBUUIDValue,
  INTEGER,
  UUID,
  VARCHAR,
} from "@duckdb/node-api";
import type { Cleanup } from "./cleanup.ts";
import type { Event } from "./events.ts";
import { type Measured, measured } from "./stats.ts";

const COMMIT_ROWS = 10_000;
const CHUNK_ROWS = 2_048;
const USAGE = DECIMAL(18, 6);
const TYPES = [BIGINT, INTEGER, INTEGER, BIGINT, UUID, USAGE, VARCHAR, BIGINT];

/** The same limits as the service gives its engine. */
export const ENGINE = { threads: "2", memory_limit: "2GB" };

/** Values of one column each, made before the clock runs. */
type Row = [bigint, number, number, bigint, DuckDBUUIDValue, DuckDBDecimalValue, string, bigint];

/**
 * The peer of ingest: the same rows written to DuckDB in this process, as typed chunks, durably, in commits of
 * 10,000; no HTTP, no checks, no search for duplicates.
 */
export class RawUsage {
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;

  private constructor(instance: DuckDBInstance, connection: DuckDBConnection) {
    this.#instance = instance;
    this.#connection = connection;
  }

  static async open(cleanup: Cleanup): Promise<RawUsage> {
    const instance = await DuckDBInstance.create(join(cleanup.folder(), "raw.duckdb"), ENGINE);
    const connection = await instance.connect();
    await connection.run(`CREATE TABLE events (
      seq BIGINT NOT NULL, company_id INTEGER NOT NULL, subscription_id INTEGER NOT NULL, timestamp BIGINT NOT NULL,
      id UUID NOT NULL, usage DECIMAL(18,6) NOT NULL, metadata VARCHAR, created_at BIGINT NOT NULL)`);
    return new RawUsage(instance, connection);
  }

  /** Writes the events and measures it; the latencies are those of the commits. */
  async write(events: Iterable<Event>): Promise<Measured> {
    const rows = Array.from(events, toRow);
    const latencies_ms: number[] = [];
    const started = performance.now();
    for (let start = 0; start < rows.length; start += COMMIT_ROWS) {
      const before = performance.now();
      await this.#commit(rows.slice(start, start + COMMIT_ROWS));
      latencies_ms.push(performance.now() - before);
    }
    return measured(rows.length, performance.now() - started, latencies_ms);
  }

  close(): void {
    this.#connection.closeSync();
    this.#instance.closeSync();
  }

  async #commit(rows: readonly Row[]): Promise<void> {
    await this.#connection.run("BEGIN");
    const appender = await this.#connection.createAppender("events");
    for (let start = 0; start < rows.length; start += CHUNK_ROWS) {
      const part = rows.slice(start, start + CHUNK_ROWS);
      const chunk = DuckDBDataChunk.create(TYPES, part.length);
      TYPES.forEach((_, column) => {
        const vector = chunk.getColumnVector(column);
        for (let row = 0; row < part.length; row++) vector.setItem(row, part[row]?.[column] ?? null);
        vector.flush();
      });
      appender.appendDataChunk(chunk);
    }
    appender.flushSync();
    appender.closeSync();
    await this.#connection.run("COMMIT");
  }
}

function toRow({ id, timestamp, usage, metadata }: Event, i: number): Row {
  return [
    BigInt(i),
    1,
    i % 50,
    BigInt(timestamp),
    DuckDBUUIDValue.fromUint128(BigInt(`0x${id.replaceAll("-", "")}`)),
    new DuckDBDecimalValue(BigInt(Math.round(usage * 1e6)), USAGE.width, USAGE.scale),
    JSON.stringify(metadata),
    BigInt(timestamp),
  ];
}
