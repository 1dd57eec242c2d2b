import { DuckDBInstance } from "@duckdb/node-api";
import { EventBlock } from "../../../src/usage_store/duckdb/append/event_block.ts";

/** Rows of subscription 7, a second apart, with ids made of their numbers from `first` to `last`. */
export async function eventBlock(first: number, last: number, usage = "number / 8"): Promise<EventBlock> {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  const block = new EventBlock(1, last - first + 1);
  const rows = await connection.stream(`SELECT 0::INTEGER, 0::INTEGER, number * 1000,
    ('00000000-0000-4000-8000-' || lpad(number::VARCHAR, 12, '0'))::UUID, (${usage})::DECIMAL(18,6),
    '{"n":' || number || '}' FROM range(${first}::BIGINT, ${last}::BIGINT + 1) AS rows(number)`);
  for await (const chunk of rows) block.add(chunk);
  connection.closeSync();
  instance.closeSync();
  block.subscription_ids.fill(7, 0, block.rows);
  return block;
}
