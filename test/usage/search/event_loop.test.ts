import { expect, test } from "bun:test";
import { subscriptionTable } from "../../../src/billing/subscriptions/tables.ts";
import { foldGroups } from "../../../src/usage/search/groups.ts";
import { listExternalIds } from "../../../src/usage/queries.ts";
import { findSubscriptionNames } from "../../../src/usage/search/queries.ts";
import { insertRows } from "../../../src/store/insert_rows.ts";
import { useService } from "../../support/harness.ts";
import { turnsDuring } from "../../support/turns.ts";
import { create } from "../../billing/subscriptions/fixtures.ts";

// What goes through many thousand rows gives everything else its turn: on an embedded database an answer never leaves
// the process by itself.

const SUBSCRIPTIONS = 12_000;
/** One between each two parts of `rows`; the first may be over before counting begins. */
const turnsOf = (rows: number) => SUBSCRIPTIONS / rows - 2;

const service = useService();

test("names and groups of many thousand subscriptions are found in turns", async () => {
  const { api, company_id, deps } = service;
  const client = await create(api, "/clients", { name: "Client" });
  const product = await create(api, "/products", { name: "Product" });
  const model = { name: "Plan", description: "", currency: "EUR", billing_type_id: 2, price: 1 };
  const at = "2024-01-01T00:00:00.000Z" as const;
  const common = {
    client_id: client.id,
    product_id: product.id,
    billing_model_id: (await create(api, "/billing-models", model)).id,
    company_id,
    started_at: at,
    billing_anchor_day: 1,
    created_at: at,
    updated_at: at,
  };
  const subscriptions = deps.store.read.use(subscriptionTable);
  const rows = Array.from({ length: SUBSCRIPTIONS }, (_, i) => ({
    ...common,
    name: `s${i}`,
    external_subscription_id: `e${i}`,
  }));
  const written = await deps.store.tx((q) =>
    insertRows(q, subscriptions, rows, { returning: { id: subscriptions.id } }),
  );
  const ids = written.map(({ id }) => id);

  const tx = { q: deps.store.read, scope: { company_id }, now: Temporal.Now.instant() };
  const found = await turnsDuring(() => findSubscriptionNames(tx, ids));
  expect(found.turns).toBeGreaterThanOrEqual(turnsOf(1_000));
  expect(found.result.size).toBe(SUBSCRIPTIONS);
  expect(found.result.get(ids[7] ?? 0)).toMatchObject({
    external_subscription_id: "e7",
    client_name: "Client",
    product_name: "Product",
  });

  const listed = await turnsDuring(async () => {
    const known: { id: number; external_subscription_id: string }[] = [];
    for await (const page of listExternalIds(tx)) known.push(...page);
    return known;
  });
  expect(listed.turns).toBeGreaterThanOrEqual(turnsOf(1_000));
  const inOrder = listed.result.toSorted((a, b) => a.id - b.id);
  expect(inOrder).toEqual(ids.map((id, i) => ({ id, external_subscription_id: `e${i}` })));

  const usage = { total_usage: "0.1", event_count: 1, min_usage: "0.1", max_usage: "0.1" };
  const groups = ids.map((id) => ({ keys: [id], ...usage }));
  const how = { order: { by: "key", descending: false } as const, max_groups: 10 };
  const folded = await turnsDuring(() => foldGroups(company_id, ["client"], groups, found.result, how));
  expect(folded.turns).toBeGreaterThanOrEqual(turnsOf(125));
  expect(folded.result).toEqual([
    {
      group_key: String(client.id),
      group_name: "Client",
      total_usage: 1_200,
      event_count: SUBSCRIPTIONS,
      min_usage: 0.1,
      max_usage: 0.1,
    },
  ]);
  const refused = foldGroups(company_id, ["subscription"], groups, found.result, how).catch(String);
  expect(await refused).toContain("Cannot aggregate usage");
});
