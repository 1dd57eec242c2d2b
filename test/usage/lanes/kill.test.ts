import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CONSTRAINTS } from "../../../src/server/schema.ts";
import { openStore } from "../../../src/store/open.ts";
import { DatabaseLaneRows } from "../../../src/usage/lanes/queries.ts";
import { openClickHouse } from "../../../src/usage_store/clickhouse/clickhouse_store.ts";
import { type ClickHouseServer, startClickHouse, whyNoClickHouse } from "../../support/clickhouse.ts";
import { TESTS_ALL } from "../../support/properties.ts";
import { testPostgres } from "../../support/postgres.ts";
import { whyNoPostgres } from "../../support/why_no_postgres.ts";
import { modelEvent } from "../../usage_store/arbitrary_events.ts";
import { Between, persist } from "../../usage_store/clickhouse/between.ts";
import { FIRST_PAGE, TIMEOUT_MS } from "../../usage_store/fixtures.ts";

const LANES = 2;
const reason = whyNoClickHouse() ?? whyNoPostgres();
if (reason !== null) console.log(`skipped: ${reason}`);

// Every check cuts owners off (test/usage_store/clickhouse/takeover.test.ts) and lets simulated ones die (test/sim/lanes).
describe.skipIf(reason !== null || !TESTS_ALL)("an owner of lanes that is killed", () => {
  let server: ClickHouseServer;
  beforeAll(async () => {
    server = await startClickHouse();
  });
  afterAll(() => server.stop());

  test("between its insert and the answer: another process stores on, and nothing is lost or counted twice", async () => {
    const [url, database_url] = [
      await server.createDatabase(),
      await (await testPostgres()).createMigrated(),
    ];
    const between = new Between(url);
    const batches = await killInTheMiddle(between, database_url);
    const store = await openStore({ database_url, data_dir: tmpdir() }, CONSTRAINTS);
    const usage = await openClickHouse({
      url,
      lanes: LANES,
      openRows: ({ lanes }) => DatabaseLaneRows.open(store, lanes),
      holder: { id: "survivor", url: null },
      folder: tmpdir(),
    });
    const events = new Map<number, number>();
    for (const { company_id, ids, is_done } of batches) {
      const again = ids.map((id) => modelEvent({ id }));
      const { accepted, duplicates } = await persist(() => usage.append(company_id, again, 2));
      // An answered batch is there as a whole; one without an answer whole or not at all.
      if (is_done) expect([accepted, duplicates]).toEqual([0, ids.length]);
      else expect([accepted, duplicates].toSorted((x, y) => x - y)).toEqual([0, ids.length]);
      events.set(company_id, (events.get(company_id) ?? 0) + ids.length);
    }
    for (const [company_id, stored] of events)
      expect((await usage.search({ ...FIRST_PAGE, company_id }, TIMEOUT_MS)).total).toBe(stored);
    expect(await usage.check(null, TIMEOUT_MS)).toMatchObject({ different: 0 });
    await usage.close();
    await store.close();
    await between.stop();
  }, 180_000);
});

interface Batch {
  company_id: number;
  ids: string[];
  is_done: boolean;
}

/** Kills a process whose commit is stored and not answered; the batches that it has sent. */
async function killInTheMiddle(between: Between, database_url: string): Promise<Batch[]> {
  const script = join(import.meta.dir, "killed_owner.ts");
  const child = Bun.spawn([process.execPath, script, between.url, database_url], { stdout: "pipe" });
  const decoder = new TextDecoder();
  let output = "";
  let killed: Promise<void> | undefined;
  for await (const bytes of child.stdout) {
    output += decoder.decode(bytes, { stream: true });
    if (killed !== undefined || !["done 2 ", "done 3 "].every((line) => output.includes(line))) continue;
    between.hold(0, "answer");
    killed = between.held(0).then(() => child.kill("SIGKILL"));
  }
  await child.exited;
  expect(child.signalCode).toBe("SIGKILL");
  between.release();
  await between.quiet();
  const lines = output.split("\n").slice(0, -1);
  const done = new Set(lines.filter((line) => line.startsWith("done ")).map((line) => line.slice(5)));
  return lines
    .filter((line) => line.startsWith("sent "))
    .map((line) => {
      const [company_id, ...ids] = line.slice(5).split(" ");
      return { company_id: Number(company_id), ids, is_done: done.has(line.slice(5)) };
    });
}
