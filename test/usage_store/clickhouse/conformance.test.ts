import { afterAll, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openClickHouse } from "../../../src/usage_store/clickhouse/clickhouse_store.ts";
import { type ClickHouseServer, startClickHouse, whyNoClickHouse } from "../../support/clickhouse.ts";
import { usageStoreConformance } from "../conformance.ts";
import { MemoryRows } from "./memory_rows.ts";

const LANES = 3;
const reason = whyNoClickHouse();

if (reason === null) {
  const folder = mkdtempSync(join(tmpdir(), "usage-"));
  let server: Promise<ClickHouseServer> | undefined;
  usageStoreConformance("the ClickHouse usage store", async () => {
    server ??= startClickHouse();
    return openClickHouse({
      url: await (await server).createDatabase(),
      lanes: LANES,
      openRows: async ({ lanes }) => new MemoryRows(lanes),
      holder: { id: crypto.randomUUID(), url: null },
      folder,
      rest_ms: [0, 0],
      group_ms: 0,
      on_failure: (error, message) => console.warn(message, error),
    });
  });
  afterAll(async () => {
    await (await server)?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
} else {
  console.log(`skipped: ${reason}`);
  test.skip("the ClickHouse usage store", () => undefined);
}
