import { expect, test } from "bun:test";
import { migrateWithRows } from "./migrate_with_rows.ts";

const AT = "'2026-01-01T00:00:00.000Z'";
const LATER = "'2026-01-02T00:00:00.000Z'";
const STAMPS = `${AT}, ${AT}`;

const run = (id: number, status: string) =>
  `INSERT INTO collection_runs (id, company_id, status, date, counts, created_at, updated_at) VALUES (${id}, 1, '${status}', '2026-01-01', '{}', ${STAMPS})`;
const mandate = (id: number, connector: string, frequency: string) =>
  `INSERT INTO mandates (id, company_id, reference, customer_id, connector, application_type, status, max_amount, max_no_debit, frequency, failed_payments, created_at, updated_at) VALUES (${id}, 1, 'EM-${id}', 1, '${connector}', '01', 'active', 10000, '1', '${frequency}', 1, ${STAMPS})`;
const payment = (id: number, mandate_id: number, status: string, updated_at: string) =>
  `INSERT INTO mandate_payments (id, company_id, mandate_id, due_date, debit_date, amount, status, attempt_count, created_at, updated_at) VALUES (${id}, 1, ${mandate_id}, '2026-01-01', '2026-01-01', 5000, '${status}', 1, ${AT}, ${updated_at})`;
const order = (id: number, payment_id: number, run_id: number, connector: string) =>
  `INSERT INTO mandate_orders (id, company_id, mandate_id, payment_id, collection_run_id, connector, kind, order_no, attempt_no, amount, status, awaits, awaits_since, submitted_at, queries, created_at, updated_at) VALUES (${id}, 1, 1, ${payment_id}, ${run_id}, '${connector}', 'debit', 'D${id}', 1, 5000, 'submitted', 'payment', ${AT}, ${AT}, 0, ${STAMPS})`;

const ROWS = [
  `INSERT INTO companies (id, name, timezone, currency, created_at, updated_at) VALUES (1, 'Acme', 'UTC', 'MYR', ${STAMPS})`,
  `INSERT INTO emandate_customers (id, company_id, name, email, created_at, updated_at) VALUES (1, 1, 'Siti', 's@example.com', ${STAMPS})`,
  mandate(1, "fpx", "Weekly"),
  mandate(2, "sandbox", "Yearly"),
  run(1, "finished"),
  run(2, "interrupted"),
  run(3, "running"),
  run(4, "interrupted"),
  payment(1, 1, "submitted", AT),
  payment(2, 1, "failed", AT),
  payment(3, 1, "charged_back", LATER),
  payment(4, 2, "failed", AT),
  payment(5, 2, "submitted", AT),
  order(1, 1, 1, "fpx"),
  order(2, 2, 2, "fpx"),
  order(3, 3, 3, "fpx"),
  order(4, 5, 4, "sandbox"),
  `INSERT INTO mandate_events (company_id, mandate_id, type, status, created_at) VALUES (1, 1, 'emandate.mandate.resumed', 'active', ${AT})`,
];

test("runs with debits of FPX have the files that they had, and nobody takes those debits from them", async () => {
  const found = await migrateWithRows(
    "collection_files",
    ROWS,
    "SELECT id, connector, status, error FROM collection_runs ORDER BY id",
  );
  expect(found.map((row) => Object.values(row).map(String))).toEqual([
    ["1", "fpx", "finished", "null"],
    ["2", "fpx", "finished", "Interrupted"],
    ["3", "fpx", "finished", "Interrupted"],
    ["4", "sandbox", "interrupted", "null"],
  ]);
});

test("payments keep their mandate's frequency, and what a resumption forgave stays forgiven", async () => {
  const found = await migrateWithRows(
    "collection_files",
    ROWS,
    "SELECT id, frequency, forgiven_at FROM mandate_payments ORDER BY id",
  );
  expect(
    found.map(({ id, frequency, forgiven_at }) => [Number(id), frequency, forgiven_at !== null]),
  ).toEqual([
    [1, "Weekly", false],
    [2, "Weekly", true],
    [3, "Weekly", false],
    [4, "Yearly", false],
    [5, "Yearly", false],
  ]);
});
