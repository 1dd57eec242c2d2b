import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TEST_STORE } from "../harness.ts";
import { migrateWithRows } from "./with_rows.ts";

/**
 * Migrations that databases may have been made with. A database remembers which it has, by their times: one that
 * is changed, renamed or written anew leaves it where it can't be opened. What is new goes into a new one.
 */
const PUBLISHED = {
  sqlite: {
    "0000_initial": "c816916e83c9387c5298d07b429c3a2c07b9c6f5b1050276ccb126db05020647",
    "0001_events": "bd5249210304606627a124a20256a7c7b71d3a7d379935a60d85ed4165e50bcf",
  },
  postgres: {
    "0000_initial": "4226b11a5c96c1e7865fc6269a07cd4994ccb0112360d31e02285111ba00aa4e",
    "0001_events": "7b5662eba43dbd4dfc748295061dc609eacf8877bd6939836630d73c1fb84e97",
  },
};

describe.each(Object.entries(PUBLISHED))("migrations for %s", (dialect, published) => {
  const folder = join(import.meta.dir, "../../data/migrations", dialect);
  const journal = JSON.parse(readFileSync(join(folder, "meta/_journal.json"), "utf8"));
  const entries: { tag: string; when: number }[] = journal.entries;

  test("those that were published stay as they are, and come first", () => {
    const digests = entries.slice(0, Object.keys(published).length).map(({ tag }) => {
      const sql = readFileSync(join(folder, `${tag}.sql`));
      return [tag, new Bun.CryptoHasher("sha256").update(sql).digest("hex")];
    });
    expect(Object.fromEntries(digests)).toEqual(published);
  });

  test("each is later than the one before, else a database would pass over it", () => {
    const times = entries.map(({ when }) => when);
    expect(times).toEqual([...new Set(times)].toSorted((a, b) => a - b));
  });
});

test("of companies that shared a seller one keeps it: one that debits, with its own key, the oldest", async () => {
  const at = "'2026-01-01T00:00:00.000Z'";
  const company = (id: number) =>
    `INSERT INTO companies (id, name, timezone, currency, created_at, updated_at) VALUES (${id}, 'C${id}', 'UTC', 'USD', ${at}, ${at})`;
  const config = (id: number, connector: string, seller: string | null, key: string | null = null) => {
    const text = (value: string | null) => (value === null ? "NULL" : `'${value}'`);
    return `INSERT INTO emandate_configs (company_id, connector, exchange_id, seller_id, private_key_sealed, max_retries,
      retry_interval_days, first_collection_lead_days, suspend_after_failures, auto_collect, holidays, created_at, updated_at)
      VALUES (${id}, '${connector}', 'EX1', ${text(seller)}, ${text(key)}, 3, 1, 2, 1, ${TEST_STORE === "postgres"}, '[]', ${at}, ${at})`;
  };
  const found = await migrateWithRows(
    "one_company_a_seller",
    [
      ...[1, 2, 3, 4, 5, 6, 7].map(company),
      config(1, "sandbox", "SE1"),
      config(2, "fpx", "SE1"),
      config(3, "fpx", "SE1", "v1.sealed"),
      config(4, "fpx", "SE1", "v1.sealed"),
      config(5, "sandbox", "SE2"),
      config(6, "sandbox", null),
      config(7, "sandbox", null),
    ],
    "SELECT company_id, connector, exchange_id, seller_id FROM emandate_configs ORDER BY company_id",
  );
  expect(found.map(({ company_id, ...row }) => [Number(company_id), ...Object.values(row)])).toEqual([
    [1, "sandbox", null, null],
    [2, "fpx", null, null],
    [3, "fpx", "EX1", "SE1"],
    [4, "fpx", null, null],
    [5, "sandbox", "EX1", "SE2"],
    [6, "sandbox", "EX1", null],
    [7, "sandbox", "EX1", null],
  ]);
});

test("of mandates, what nobody had answered is flagged, and an order keeps the change that it asks for", async () => {
  const at = "'2026-03-10T00:00:00.000Z'";
  const order = (id: number, kind: string, awaits: string | null, flagged: boolean) =>
    `INSERT INTO mandate_orders (id, company_id, mandate_id, connector, kind, order_no, attempt_no, amount, status, awaits,
       awaits_since, response_code, submitted_at, queries, flagged_at, created_at, updated_at)
     VALUES (${id}, 1, 1, 'fpx', '${kind}', 'N${id}', 1, 100, 'pending', ${awaits === null ? "NULL" : `'${awaits}'`},
       ${at}, '76', ${at}, 0, ${flagged ? at : "NULL"}, ${at}, ${at})`;
  const rows = [
    `INSERT INTO companies (id, name, timezone, currency, created_at, updated_at) VALUES (1, 'A', 'UTC', 'MYR', ${at}, ${at})`,
    `INSERT INTO emandate_customers (id, company_id, name, email, created_at, updated_at)
     VALUES (1, 1, 'Siti', 'siti@example.com', ${at}, ${at})`,
    `INSERT INTO mandates (id, company_id, reference, customer_id, connector, application_type, status, max_amount,
       max_no_debit, frequency, amendment, failed_payments, created_at, updated_at)
     VALUES (1, 1, 'EM-1', 1, 'fpx', '02', 'active', 10000, '1', 'Monthly', '{"amount":"42.00"}', 0, ${at}, ${at})`,
    order(1, "enrolment", "approval", true),
    order(2, "enrolment", null, true),
    order(3, "amendment", "confirmation", false),
  ];
  const flags = "SELECT order_id, reason, about, response_code FROM mandate_flags ORDER BY order_id";
  const found = await migrateWithRows("mandate_flags", rows, flags);
  expect(found.map(({ order_id, ...row }) => [Number(order_id), ...Object.values(row)])).toEqual([
    [1, "no_answer", "approval", "76"],
  ]);
  const orders = await migrateWithRows(
    "mandate_flags",
    rows,
    "SELECT amendment FROM mandate_orders ORDER BY id",
  );
  const amendments = orders.map(({ amendment }) =>
    typeof amendment === "string" ? JSON.parse(amendment) : amendment,
  );
  expect(amendments).toEqual([null, null, { amount: "42.00" }]);
});
