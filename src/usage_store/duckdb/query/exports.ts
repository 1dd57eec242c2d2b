import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import type { Write } from "../../../core/download.ts";
import type { ExportOptions, ExportQuery } from "../../port.ts";
import type { Engine } from "../engine/engine.ts";
import { type ExportLimits, exportParquet, exportText } from "./export.ts";
import { asText, query } from "../engine/sql.ts";
import { INTERRUPT_AGAIN_MS, Readers, type ReadersLimits } from "../engine/readers.ts";
import { closedError } from "../../query/closed_error.ts";

/** Exports, on connections of their own: each lasts as long as its receiver takes, and queries must not wait. */
export class Exports {
  readonly #readers: Readers;
  readonly #folder: string;
  readonly #closing = new AbortController();

  private constructor(readers: Readers, folder: string) {
    this.#readers = readers;
    this.#folder = folder;
  }

  /** Temporary files are in a folder beside the database; those of a killed process are removed. */
  static async open(engine: Engine, limits: ReadersLimits): Promise<Exports> {
    const folder = `${await pathOf(engine.instance)}.exports`;
    await rm(folder, { recursive: true, force: true });
    return new Exports(await Readers.open(engine, limits), folder);
  }

  /** As `UsageStore.export`. */
  run(wanted: ExportQuery, write: Write, { timeout_ms, signal, ...limits }: ExportOptions): Promise<void> {
    const stop = AbortSignal.any([signal, this.#closing.signal]);
    return this.#readers.run(wanted.company_id, timeout_ms, async (connection) => {
      const halt = Promise.withResolvers<never>();
      halt.promise.catch(() => undefined);
      const unhook = onAbort(stop, () => {
        connection.interrupt();
        halt.reject(stop.reason);
      });
      try {
        stop.throwIfAborted();
        // The receiver may be slow, but an abort must not wait for it.
        const paced: Write = (bytes) => Promise.race([write(bytes), halt.promise]);
        await this.#write(connection, wanted, limits, paced);
      } catch (error) {
        throw stop.aborted ? stop.reason : error;
      } finally {
        unhook();
      }
    });
  }

  /** Runs one statement of the service's own, which may take long. */
  runStatement<T>(timeout_ms: number, read: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    return this.#readers.runStatement(null, timeout_ms, read);
  }

  /** Aborts exports under way. */
  async close(): Promise<void> {
    this.#closing.abort(closedError());
    await this.#readers.close();
    await this.#clear();
  }

  /** As `close`: the engine is lost. */
  async abandon(reason: Error): Promise<void> {
    this.#closing.abort(reason);
    await this.#readers.abandon(reason);
    await this.#clear();
  }

  async #clear(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #write(
    connection: DuckDBConnection,
    wanted: ExportQuery,
    limits: ExportLimits,
    write: Write,
  ): Promise<void> {
    const { format } = wanted;
    if (format !== "parquet") return exportText(connection, { ...wanted, format }, limits.max_sorted, write);
    await mkdir(this.#folder, { recursive: true });
    const path = join(this.#folder, `${crypto.randomUUID()}.parquet`);
    await exportParquet(connection, wanted, path, limits, write);
  }
}

/** Acts once the signal is aborted, and again until the result is called: an interrupt may be lost. */
function onAbort(signal: AbortSignal, act: () => void): () => void {
  let timer: ReturnType<typeof setInterval> | undefined;
  const begin = (): void => {
    act();
    timer = setInterval(act, INTERRUPT_AGAIN_MS);
  };
  signal.addEventListener("abort", begin);
  return () => {
    clearInterval(timer);
    signal.removeEventListener("abort", begin);
  };
}

async function pathOf(instance: Engine["instance"]): Promise<string> {
  const connection = await instance.connect();
  try {
    const sql = "SELECT path FROM duckdb_databases() WHERE database_name = current_database()";
    const [[path] = []] = await query(connection, sql);
    return asText(path);
  } finally {
    connection.closeSync();
  }
}
