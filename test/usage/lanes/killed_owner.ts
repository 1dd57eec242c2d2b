/**
 * Appends batches to the usage store on ClickHouse at argv[2], whose lanes are those of the database at argv[3], until it
 * is killed. Before each append it prints `sent <company> <ids>`, after it `done <company> <ids>`.
 */
import { writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { CONSTRAINTS } from "../../../src/server/schema.ts";
import { openStore } from "../../../src/store/open.ts";
import { DatabaseLaneRows } from "../../../src/usage/lanes/queries.ts";
import { openClickHouse } from "../../../src/usage_store/clickhouse/clickhouse_store.ts";
import { modelEvent } from "../../usage_store/arbitrary_events.ts";

const [url = "", database_url = ""] = process.argv.slice(2);
const LANES = 2;
const store = await openStore({ database_url, data_dir: tmpdir() }, CONSTRAINTS);
const usage = await openClickHouse({
  url,
  lanes: LANES,
  openRows: ({ lanes }) => DatabaseLaneRows.open(store, lanes),
  holder: { id: "killed", url: null },
  folder: tmpdir(),
});

async function appendForever(company_id: number, size: number): Promise<void> {
  for (;;) {
    const events = Array.from({ length: size }, () => modelEvent());
    const ids = events.map(({ id }) => id).join(" ");
    writeSync(1, `sent ${company_id} ${ids}\n`);
    await usage.append(company_id, events, 1);
    writeSync(1, `done ${company_id} ${ids}\n`);
  }
}

await Promise.all([appendForever(2, 1), appendForever(2, 40), appendForever(3, 7), appendForever(3, 300)]);
