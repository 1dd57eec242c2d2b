import { open } from "node:fs/promises";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { AppError, invalid } from "../../core/errors.ts";
import type { EventBlock } from "../../usage_store/duckdb/append/event_block.ts";
import { quoteText } from "../../usage_store/duckdb/engine/sql.ts";
import { LIMITS } from "../limits.ts";
import { textRows } from "./column_sources.ts";
import { blockSql, canonicalPattern, KEYS_TYPE, ROLES, type RoleValues } from "./columns_sql.ts";
import { blocksOf, metadataKeys } from "./blocks.ts";
import { engineReason } from "./file_head.ts";
import { quoteName } from "./file_tables.ts";
import type { SentBlock } from "./model.ts";

/** The columns of a block, all VARCHAR; the subscription's may be subscription_id instead. */
export const BLOCK_COLUMNS = ["id", "external_subscription_id", "timestamp", "usage", "metadata"] as const;

/** A block opened for reading. */
export interface ReadableBlock {
  subscription_field: "external_subscription_id" | "subscription_id";
  /** The subscriptions that its rows name. */
  keys: readonly string[];
  /** The rows in order. */
  slices(): AsyncGenerator<EventBlock>;
}

/**
 * Reads a block with an engine of its own, which can open no other file, load no extension and take no more memory than
 * it was given; all SQL is ours. Errors: malformed (not Parquet), invalid (other columns, too many rows or too long
 * texts), unavailable when reading takes too long.
 */
export async function readSentBlock<T>(
  sent: SentBlock,
  use: (block: ReadableBlock) => Promise<T>,
): Promise<T> {
  await checkFooter(sent);
  const instance = await DuckDBInstance.create(":memory:", {
    threads: "1",
    preserve_insertion_order: "true",
    memory_limit: LIMITS.usage_import_memory,
    max_temp_directory_size: "0B",
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    allow_community_extensions: "false",
  });
  const connection = await instance.connect();
  let is_late = false;
  const timer = setTimeout(() => {
    is_late = true;
    connection.interrupt();
  }, LIMITS.usage_block_read_ms);
  try {
    await lock(connection, sent.path);
    return await use(await openBlock(connection, sent.path, () => clearTimeout(timer)));
  } catch (error) {
    if (is_late)
      throw new AppError("unavailable", "Reading the block took too long: send fewer rows", {
        retry_after_s: 10,
        cause: error,
      });
    throw error;
  } finally {
    clearTimeout(timer);
    connection.closeSync();
    instance.closeSync();
  }
}

const MAGIC = "PAR1";
/** The footer's length, and the magic. */
const TAIL_BYTES = 8;

/** Refuses a footer that would take much more memory than bytes. Errors: malformed, invalid. */
async function checkFooter({ path, bytes }: SentBlock): Promise<void> {
  const tail = Buffer.alloc(TAIL_BYTES);
  const file = await open(path);
  try {
    await file.read(tail, 0, TAIL_BYTES, Math.max(bytes - TAIL_BYTES, 0));
  } finally {
    await file.close();
  }
  if (tail.toString("latin1", 4) !== MAGIC) throw unreadable("it does not end as one");
  if (tail.readUInt32LE(0) > LIMITS.usage_block_footer_bytes)
    throw invalid("", `has a footer of over ${LIMITS.usage_block_footer_bytes} bytes`);
}

function unreadable(reason: string, cause?: unknown): AppError {
  return new AppError("malformed", `Cannot read the block as Parquet: ${reason}`, { cause });
}

async function lock(connection: DuckDBConnection, path: string): Promise<void> {
  await connection.run(`SET streaming_buffer_size = '${LIMITS.usage_import_buffer}'`);
  await connection.run(`SET allowed_paths = [${quoteText(path)}]`);
  await connection.run("SET enable_external_access = false");
  await connection.run("SET lock_configuration = true");
}

async function openBlock(
  connection: DuckDBConnection,
  path: string,
  onRead: () => void,
): Promise<ReadableBlock> {
  const from = `read_parquet(${quoteText(path)})`;
  try {
    const subscription_field = await checkColumns(connection, from);
    await checkTexts(connection, from, subscription_field);
    const column = (role: string) => quoteName(role === "subscription" ? subscription_field : role);
    const values: RoleValues = new Map(ROLES.map((role) => [role, { sql: column(role), type: "VARCHAR" }]));
    const keys = await nameKeys(connection, from, column("subscription"));
    const canonical = canonicalPattern(await metadataKeys(connection, from, values));
    const sql = blockSql({ from, problem: "NULL", values, canonical, has_keys: keys.length > 0 });
    return {
      subscription_field,
      keys,
      async *slices() {
        const blocks = blocksOf(connection, sql, { size: LIMITS.usage_block_slice });
        yield* asUnreadable(blocks);
        onRead();
      },
    };
  } catch (error) {
    throw error instanceof AppError ? error : unreadable(engineReason(error), error);
  }
}

async function* asUnreadable<T>(items: AsyncGenerator<T>): AsyncGenerator<T> {
  for (;;) {
    const next = await items.next().catch((error: unknown) => {
      throw unreadable(engineReason(error), error);
    });
    if (next.done === true) return;
    yield next.value;
  }
}

/** Errors: invalid. Returns the name of the subscription's column. */
async function checkColumns(
  connection: DuckDBConnection,
  from: string,
): Promise<ReadableBlock["subscription_field"]> {
  const found = await textRows(connection, `SELECT column_name, column_type FROM (DESCRIBE FROM ${from})`);
  const columns = new Map(found.map(([name, type]) => [name, type]));
  const field = columns.has("subscription_id") ? "subscription_id" : "external_subscription_id";
  const wanted = BLOCK_COLUMNS.map((name) => (name === "external_subscription_id" ? field : name));
  const is_right = wanted.every((name) => columns.get(name) === "VARCHAR") && found.length === wanted.length;
  if (is_right) return field;
  const given = found.slice(0, 20).map(([name, type]) => `${name?.slice(0, 100)} ${type?.slice(0, 100)}`);
  throw invalid(
    "",
    `must have the columns ${wanted.join(", ")}, each VARCHAR, and no other; it has ${given.join(", ")}`,
  );
}

/** Looks at all there is, since what the footer says may be wrong. Errors: invalid. */
async function checkTexts(connection: DuckDBConnection, from: string, field: string): Promise<void> {
  const columns = BLOCK_COLUMNS.map((name) => (name === "external_subscription_id" ? field : name));
  const lengths = columns.map((name) => `coalesce(strlen(${quoteName(name)}), 0)`);
  const [[rows, total, longest] = []] = await textRows(
    connection,
    `SELECT count(length)::VARCHAR, sum(length)::VARCHAR, max(longest)::VARCHAR
    FROM (SELECT ${lengths.join(" + ")} AS length, greatest(${lengths.join(", ")}) AS longest FROM ${from})`,
  );
  if (Number(rows) > LIMITS.usage_block_rows)
    throw invalid("", `may have ${LIMITS.usage_block_rows} rows, and has ${rows}`);
  if (Number(longest) > LIMITS.usage_block_value_bytes)
    throw invalid("", `may have texts of ${LIMITS.usage_block_value_bytes} bytes, and has one of ${longest}`);
  if (Number(total) > LIMITS.usage_block_text_bytes)
    throw invalid("", `may have ${LIMITS.usage_block_text_bytes} bytes of text, and has ${total}`);
}

/** Longer texts name no subscription. */
const KEY_BYTES = 1_000;

/** Numbers the subscriptions that the rows name, by an enum type, and returns them in that order. */
async function nameKeys(connection: DuckDBConnection, from: string, column: string): Promise<string[]> {
  await connection.run(
    `CREATE TEMP TABLE keys AS SELECT DISTINCT ${column} AS key FROM ${from}
    WHERE ${column} IS NOT NULL AND strlen(${column}) <= ${KEY_BYTES}`,
  );
  const keys: string[] = [];
  for await (const chunk of await connection.stream("SELECT key FROM keys ORDER BY key"))
    keys.push(...chunk.getColumnValues(0).map(String));
  if (keys.length > 0)
    await connection.run(`CREATE TYPE ${KEYS_TYPE} AS ENUM (SELECT key FROM keys ORDER BY key)`);
  return keys;
}
