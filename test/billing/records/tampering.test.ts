import { expect, test } from "bun:test";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { makePreparedFolder, serveHere } from "../../support/process.ts";
import type { Api, Json } from "../../support/harness.ts";
import { create } from "../subscriptions/fixtures.ts";
import { PER_UNIT } from "../fixtures.ts";

const EVENTS = [
  { id: "00000000-0000-4000-8000-000000000001", usage: 10, timestamp: Date.UTC(2024, 2, 10) },
  { id: "00000000-0000-4000-8000-000000000002", usage: 2.5, timestamp: Date.UTC(2024, 2, 11) },
];

/** Runs statements on the file of a stopped server. */
async function tamper(data_dir: string, sql: string): Promise<void> {
  const instance = await DuckDBInstance.create(join(data_dir, "usage.duckdb"));
  const connection = await instance.connect();
  try {
    await connection.run(sql);
    await connection.run("CHECKPOINT");
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

async function bill(api: Api): Promise<Json> {
  const client = await create(api, "/clients", { name: "Client" });
  const product = await create(api, "/products", { name: "Product" });
  const model = { name: "Plan", description: "", currency: "EUR", ...PER_UNIT };
  await create(api, "/subscriptions", {
    name: "Main",
    external_subscription_id: "metered",
    client_id: client.id,
    product_id: product.id,
    billing_model_id: (await create(api, "/billing-models", model)).id,
    started_at: "2024-01-01T00:00:00Z",
  });
  const events = EVENTS.map((event) => ({ ...event, external_subscription_id: "metered" }));
  expect((await api("POST", "/usage/events", events)).status).toBe(201);
  const run = await api("POST", "/billing-runs", { period: "2024-03" });
  return run.body.data.records[0];
}

const everywhere = (sql: string) =>
  ["hot_0", "hot_1", "hot_2", "hot_3", "runs", "settled"]
    .map((table) => `${sql.replace("EVENTS", `usage_${table}`)};`)
    .join("\n");
const UNITS = { quantity: "12.5", event_count: 2 };
const FIRST = `id = '${EVENTS[0]?.id}'`;

test("an event that was changed, moved, removed or slipped in on the disk does not match the bill", async () => {
  const place = await makePreparedFolder();
  const served = <T>(work: (api: Api) => Promise<T>): Promise<T> => serveHere(place.env, work);
  try {
    const record = await served(bill);
    const verify = () =>
      served(async (api) => (await api("GET", `/billing-records/${record.id}/verify`)).body.data);
    expect((await verify()).matches).toBe(true);

    for (const [changed, back, expected] of [
      // Units that go from one event to the other leave the sum as it was.
      ["usage = usage + if(usage > 5, -1, 1)", "usage = usage + if(usage > 5, 1, -1)", UNITS],
      [`timestamp = timestamp + 1 WHERE ${FIRST}`, `timestamp = timestamp - 1 WHERE ${FIRST}`, UNITS],
      // Passed off as stored after the bill.
      [
        `seq = seq + 1000 WHERE ${FIRST}`,
        `seq = seq - 1000 WHERE ${FIRST}`,
        { quantity: "2.5", event_count: 1 },
      ],
    ] as const) {
      await tamper(place.data_dir, everywhere(`UPDATE EVENTS SET ${changed}`));
      const { matches, lines } = await verify();
      expect(matches, changed).toBe(false);
      expect(lines).toMatchObject([{ expected, actual: UNITS }]);
      await tamper(place.data_dir, everywhere(`UPDATE EVENTS SET ${back}`));
    }
    expect((await verify()).matches).toBe(true);
    await tamper(
      place.data_dir,
      `INSERT INTO usage_runs SELECT * REPLACE (uuid() AS id, 0 AS usage) FROM usage_events WHERE ${FIRST}`,
    );
    const { matches, lines } = await verify();
    expect(matches).toBe(false);
    expect(lines).toMatchObject([{ expected: { quantity: "12.5", event_count: 3 }, actual: UNITS }]);
    await tamper(place.data_dir, everywhere("DELETE FROM EVENTS"));
    expect((await verify()).lines).toMatchObject([
      { expected: { quantity: "0", event_count: 0 }, actual: UNITS },
    ]);
  } finally {
    place.remove();
  }
});
