import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { openClickHouse } from "../../../src/usage_store/clickhouse/clickhouse_store.ts";
import { canonicalJson } from "../../../src/usage_store/metadata.ts";
import { type ClickHouseServer, startClickHouse, whyNoClickHouse } from "../../support/clickhouse.ts";
import { modelEvent } from "../arbitrary_events.ts";
import { FIRST_PAGE, NOW_MS, TIMEOUT_MS } from "../fixtures.ts";
import { MemoryRows } from "./memory_rows.ts";
import { StatementsBetween } from "./statements_between.ts";

const EVENTS = 5_000;
const ODD = 'line\nbreak, "quote", back\\slash, \u0000, tab\t, \u2028, 李';
const reason = whyNoClickHouse();
if (reason !== null) console.log(`skipped: ${reason}`);

describe.skipIf(reason !== null)("erasing in ClickHouse", () => {
  let server: ClickHouseServer;
  beforeAll(async () => {
    server = await startClickHouse();
  });
  afterAll(() => server.stop());

  test.each([[[]], [["kept"]]])("writes thousands of events anew by one change, keeping %p", async (keep) => {
    const changes: string[] = [];
    const between = new StatementsBetween(await server.createDatabase(), (sql, pass) => {
      if (sql.startsWith("ALTER TABLE usage_events UPDATE")) changes.push(sql);
      return pass(sql);
    });
    const store = await openClickHouse({
      url: between.url,
      lanes: 1,
      openRows: async ({ lanes }) => new MemoryRows(lanes),
      holder: { id: "only", url: null },
      folder: tmpdir(),
      rest_ms: [0, 0],
      group_ms: 0,
    });
    const events = Array.from({ length: EVENTS }, (_, i) =>
      modelEvent({ timestamp: NOW_MS - i, metadata: canonicalJson({ kept: `${i} ${ODD}`, name: "Ada" }) }),
    );
    const other = modelEvent({ timestamp: NOW_MS - 1, metadata: canonicalJson({ name: "Bea" }) });
    await store.append(1, [...events, other], NOW_MS);
    await store.erase(
      1,
      events.map(({ id }) => id),
      keep,
    );
    expect(changes).toHaveLength(1);
    const query = { ...FIRST_PAGE, company_id: 1, limit: EVENTS + 1 };
    const { rows } = await store.search(query, TIMEOUT_MS);
    const metadata = new Map(rows.map((row) => [row.id, row.metadata]));
    expect(events.map(({ id }) => metadata.get(id))).toEqual(
      events.map((_, i) => ({ erased: true, ...(keep.length === 0 ? {} : { kept: `${i} ${ODD}` }) })),
    );
    expect(metadata.get(other.id)).toEqual({ name: "Bea" });
    await store.close();
    await between.stop();
  });
});
