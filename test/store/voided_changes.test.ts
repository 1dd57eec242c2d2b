import { expect, test } from "bun:test";
import { migrateWithRows } from "./migrate_with_rows.ts";

const EARLY = "'2026-01-01T00:00:00.000Z'";
const CHANGED = "'2026-01-10T00:00:00.000Z'";
const TURN = "'2026-02-01T00:00:00.000Z'";
const LATER = "'2026-03-05T00:00:00.000Z'";
const STAMPS = `${EARLY}, ${EARLY}`;

const subscription = (id: number, started_at: string, ends_at: string, updated_at: string) =>
  `INSERT INTO subscriptions (id, company_id, name, external_subscription_id, client_id, product_id, billing_model_id, started_at, ends_at, billing_anchor_day, created_at, updated_at) VALUES (${id}, 1, 'S', 'S${id}', 1, 1, 1, ${started_at}, ${ends_at}, 1, ${EARLY}, ${updated_at})`;
const change = (id: number, subscription_id: number, kind: string, status: string) =>
  `INSERT INTO billing_model_changes (id, company_id, subscription_id, old_billing_model_id, new_billing_model_id, effective_at, status, kind, attempts, adjustment_billing_record_ids, created_at, updated_at) VALUES (${id}, 1, ${subscription_id}, 1, 1, '2026-04-0${id}T00:00:00.000Z', '${status}', '${kind}', 0, '[]', ${CHANGED}, ${CHANGED})`;

const ROWS = [
  `INSERT INTO companies (id, name, timezone, currency, created_at, updated_at) VALUES (1, 'Acme', 'UTC', 'EUR', ${STAMPS})`,
  `INSERT INTO clients (id, company_id, name, created_at, updated_at) VALUES (1, 1, 'C', ${STAMPS})`,
  `INSERT INTO products (id, company_id, name, created_at, updated_at) VALUES (1, 1, 'P', ${STAMPS})`,
  `INSERT INTO billing_models (id, company_id, billing_type_id, name, description, price, currency, recurring_fee, free_units, usage_tiers, charge_flat_on_zero, status, created_at, updated_at) VALUES (1, 1, 1, 'M', '', '1', 'EUR', '0', '0', '[]', FALSE, 'active', ${STAMPS})`,
  // Ends with the period in which it was cancelled; with its first one; at once; before it starts; not at all.
  subscription(1, EARLY, TURN, CHANGED),
  subscription(2, LATER, "'2026-04-01T00:00:00.000Z'", CHANGED),
  subscription(3, EARLY, CHANGED, CHANGED),
  subscription(4, LATER, LATER, CHANGED),
  subscription(5, EARLY, "NULL", CHANGED),
  change(1, 5, "downgrade", "scheduled"),
  change(2, 2, "downgrade", "scheduled"),
  change(3, 5, "downgrade", "applied"),
  change(4, 5, "change", "scheduled"),
];

const instants = (found: Record<string, unknown>[]) =>
  found.map(({ at }) => (at === null ? null : new Date(at as string | Date).toISOString().slice(0, 10)));

test("subscriptions that end with a period, and downgrades that wait, keep the period that is meant", async () => {
  const ends = "SELECT last_period_at AS at FROM subscriptions ORDER BY id";
  expect(instants(await migrateWithRows("voided_changes", ROWS, ends))).toEqual([
    "2026-01-10",
    "2026-03-05",
    null,
    null,
    null,
  ]);
  const downgrades = "SELECT after_period_at AS at FROM billing_model_changes ORDER BY id";
  expect(instants(await migrateWithRows("voided_changes", ROWS, downgrades))).toEqual([
    "2026-01-10",
    "2026-03-05",
    null,
    null,
  ]);
});
