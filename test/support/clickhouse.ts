import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@clickhouse/client";

const FOLDER = join(import.meta.dir, "clickhouse_engine");

/** Why ClickHouse's engine can't run here, or null. */
export function whyNoClickHouse(): string | null {
  if (process.platform !== "linux" || process.arch !== "x64")
    return "tests on ClickHouse: its engine is packaged for Linux on x64 only";
  if (existsSync(join(FOLDER, "node_modules/chdb"))) return null;
  return "tests on ClickHouse: its engine is not installed; run bun install in test/support/clickhouse_engine";
}

/** ClickHouse's engine, for as long as tests run. */
export interface ClickHouseServer {
  /** Makes an empty database; its address. */
  createDatabase(): Promise<string>;
  stop(): Promise<void>;
}

/** Starts the engine with files of its own, and so many threads for a statement. */
export async function startClickHouse(threads = 1): Promise<ClickHouseServer> {
  const folder = mkdtempSync(join(tmpdir(), "meterhouse-clickhouse-"));
  const child = Bun.spawn([process.execPath, join(FOLDER, "engine_server.ts"), folder, String(threads)], {
    stdout: "pipe",
    stderr: "inherit",
    env: { ...process.env, UV_THREADPOOL_SIZE: "16" },
  });
  const port = await firstLine(child.stdout);
  const url = `http://127.0.0.1:${port}`;
  const client = createClient({ url });
  let databases = 0;
  return {
    async createDatabase() {
      const name = `usage_${++databases}`;
      await client.command({ query: `CREATE DATABASE ${name}` });
      return `${url}/${name}`;
    },
    async stop() {
      await client.close();
      child.kill("SIGKILL");
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Errors: throws when the process ends before it has printed a line. */
async function firstLine(output: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of output) {
    text += decoder.decode(chunk, { stream: true });
    const end = text.indexOf("\n");
    if (end >= 0) return text.slice(0, end);
  }
  throw new Error("ClickHouse's engine did not start");
}
