import { Readable } from "node:stream";
import {
  ClickHouseError,
  ClickHouseLogLevel,
  type ClickHouseSettings,
  createClient,
} from "@clickhouse/client";
import { AppError } from "../../../core/errors.ts";
import type { Row } from "./sql.ts";

/** How long a statement may take, and what ends it before. */
export interface Bounds {
  timeout_ms: number;
  signal?: AbortSignal | undefined;
}

type Client = ReturnType<typeof createClient>;

/** Settings of every statement. */
const SETTINGS: ClickHouseSettings = {
  // Values are part of the statement.
  max_query_size: String(256 * 2 ** 20),
  max_ast_elements: "1000000",
  max_expanded_ast_elements: "1000000",
  output_format_json_quote_64bit_integers: 1,
  output_format_json_quote_decimals: 1,
  output_format_decimal_trailing_zeros: 0,
  // A condition is one of the table's columns, whatever a statement calls its results.
  prefer_column_name_to_alias: 1,
  // All of a statement sees one instant.
  enable_shared_storage_snapshot_in_query: 1,
};

/** How long a commit may be under way. */
const COMMIT_MS = 60_000;

/** Settings of a commit: one block, which is one part. */
const COMMIT_SETTINGS: ClickHouseSettings = {
  // A server goes on with an insert that nobody waits for any more.
  max_execution_time: COMMIT_MS / 1_000,
  async_insert: 0,
  wait_end_of_query: 1,
  input_format_parallel_parsing: 0,
  max_insert_threads: "1",
  min_insert_block_size_rows: "1048576",
  min_insert_block_size_bytes: "0",
  max_insert_block_size: "1048576",
};

/** How long a statement may go on that nobody waits for any more. */
const GRACE_S = 5;

/** A ClickHouse server, as the store asks it. */
export class ClickHouse {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  /** `url`: with the user, the password and the database. */
  static connect(url: string): ClickHouse {
    const client = createClient({
      url,
      // Each statement has its own bound.
      request_timeout: 2 ** 31 - 1,
      max_open_connections: 64,
      compression: { request: false, response: false },
      application: "meterhouse",
      // What fails is logged by whoever asked.
      log: { level: ClickHouseLogLevel.OFF },
      clickhouse_settings: SETTINGS,
    });
    return new ClickHouse(client);
  }

  /** The rows of a statement, in parts, each of which is read in a turn of its own. Errors: as `judge`. */
  async *stream(sql: string, { timeout_ms, signal }: Bounds): AsyncGenerator<Row[]> {
    const abort = new AbortController();
    const onAbort = (): void => abort.abort(signal?.reason);
    const timer = setTimeout(() => abort.abort(timeoutError(timeout_ms)), Math.max(timeout_ms, 0));
    signal?.addEventListener("abort", onAbort);
    try {
      signal?.throwIfAborted();
      const result = await this.#client.query({
        query: sql,
        format: "JSONCompactEachRow",
        abort_signal: abort.signal,
        clickhouse_settings: { max_execution_time: Math.ceil(timeout_ms / 1_000) + GRACE_S },
      });
      for await (const rows of result.stream()) yield rows.map((row) => row.json<Row>());
      abort.signal.throwIfAborted();
    } catch (error) {
      signal?.throwIfAborted();
      throw abort.signal.aborted ? abort.signal.reason : judged(error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      // Ends what nobody reads any more.
      abort.abort();
    }
  }

  /** All rows of a statement. */
  async ask(sql: string, bounds: Bounds): Promise<Row[]> {
    const found: Row[] = [];
    for await (const rows of this.stream(sql, bounds)) for (const row of rows) found.push(row);
    return found;
  }

  /** The bytes of a statement that names its format. */
  async *bytes(sql: string, { timeout_ms, signal }: Bounds): AsyncGenerator<Uint8Array> {
    const ended = AbortSignal.any([
      AbortSignal.timeout(Math.max(timeout_ms, 0)),
      ...(signal ? [signal] : []),
    ]);
    try {
      const { stream } = await this.#client.exec({
        query: sql,
        abort_signal: ended,
        clickhouse_settings: { max_execution_time: Math.ceil(timeout_ms / 1_000) + GRACE_S },
      });
      for await (const piece of stream) yield piece;
      ended.throwIfAborted();
    } catch (error) {
      signal?.throwIfAborted();
      throw ended.aborted ? timeoutError(timeout_ms) : judged(error);
    }
  }

  /** Runs a statement that has no rows. */
  async run(sql: string, timeout_ms: number, settings: ClickHouseSettings = {}): Promise<void> {
    try {
      await this.#client.command({
        query: sql,
        abort_signal: AbortSignal.timeout(timeout_ms),
        clickhouse_settings: settings,
      });
    } catch (error) {
      throw judged(error);
    }
  }

  /**
   * Inserts rows as one block, whole or not at all. Of two inserts into a partition with one token the first is kept.
   * Errors: it may be stored, or be stored later.
   */
  async insert(table: string, rows: Uint8Array, token: string): Promise<void> {
    const { stream } = await this.#client.exec({
      query: `INSERT INTO ${table} FORMAT RowBinary`,
      values: Readable.from([rows]),
      abort_signal: AbortSignal.timeout(COMMIT_MS),
      clickhouse_settings: { ...COMMIT_SETTINGS, insert_deduplication_token: token },
    });
    // An error may come after the first bytes.
    for await (const _ of stream);
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}

/** Codes of ClickHouse's errors for statements that take too long, or too much memory. */
const TIMEOUT = new Set(["159", "160", "394"]);
const MEMORY = new Set(["241", "173"]);

/** An error of the engine as callers see it: what can't be reached, or asks too much, may be tried again. */
function judged(error: unknown): unknown {
  if (!(error instanceof ClickHouseError)) {
    if (error instanceof AppError) return error;
    return new AppError("unavailable", "Cannot query usage now: its store can't be reached", {
      retry_after_s: 1,
      cause: error,
    });
  }
  if (TIMEOUT.has(error.code))
    return new AppError("unavailable", "Cannot query usage: the query ran too long; narrow it", {
      retry_after_s: 1,
      cause: error,
    });
  if (MEMORY.has(error.code))
    return new AppError(
      "unavailable",
      "Cannot query usage: the query needs more memory than there is; narrow it",
      {
        retry_after_s: 1,
        cause: error,
      },
    );
  return error;
}

export function timeoutError(timeout_ms: number): AppError {
  return new AppError("unavailable", `Cannot query usage: the query ran over ${timeout_ms} ms; narrow it`, {
    retry_after_s: 1,
  });
}
