import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TEST_STORE } from "../support/harness.ts";
import { migrateWithRows } from "./migrate_with_rows.ts";

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

test("of loans, submitted ones keep their form, deleted drafts say nothing of people, and consents end as they were given", async () => {
  const at = "'2026-03-10T00:00:00.000Z'";
  const stamps = `${at}, ${at}`;
  const borrower = JSON.stringify({ type: "individual", name: "O''Brien", ic_number: "900131145678" });
  const loan = (id: number, status: string, form_id: number | null, deleted: boolean) =>
    `INSERT INTO loan_applications (id, company_id, environment, reference, program_id, program_snapshot, status, borrower,
       borrower_name, amount, tenor_months, purpose, answers, missing, external_reference, deleted_at, created_at, updated_at)
     VALUES (${id}, 1, 'production', 'LA-${id}', 1, '{"form_config_id":${form_id}}', '${status}', '${borrower}', 'O''Brien',
       1000, 12, 'A car', '{"job":"Nurse"}', '[{"kind":"field","code":"job","note":null}]', 'E-${id}',
       ${deleted ? at : "NULL"}, ${stamps})`;
  const evidence =
    '{"method":"otp","captured_at":"2026-02-26T12:30:00.125Z","ip":"10.1.2.3","user_agent":"M"}';
  const consent = (id: number, loan_id: number, definition: number, status: string, ends: string) =>
    `INSERT INTO consents (id, company_id, environment, application_id, definition_id, code, version, locale, text_sha256,
       status, subject_name, subject_ic_last4, evidence, granted_at, expires_at, created_at, updated_at)
     VALUES (${id}, 1, 'production', ${loan_id}, ${definition}, 'pdpa', 1, 'en', 'x', '${status}', 'O''Brien', '5678',
       '${evidence}', ${at}, ${ends}, ${stamps})`;
  const definition = (id: number, days: string) =>
    `INSERT INTO consent_definitions (id, company_id, environment, code, version, locale, title, purpose_text, data_text,
       data_categories, audience, validity_days, text_sha256, status, created_at, updated_at)
     VALUES (${id}, 1, 'production', 'c${id}', 1, 'en', 'T', 'P', 'D', '[]', 'L', ${days}, 'x', 'retired', ${stamps})`;
  const rows = [
    `INSERT INTO companies (id, name, timezone, currency, created_at, updated_at) VALUES (1, 'A', 'UTC', 'MYR', ${stamps})`,
    `INSERT INTO clients (id, company_id, name, created_at, updated_at) VALUES (1, 1, 'C', ${stamps})`,
    `INSERT INTO forms (id, company_id, client_id, name, config, is_active, created_at, updated_at)
     VALUES (1, 1, 1, 'F', '{"title":"T","fields":[]}', ${TEST_STORE === "postgres"}, ${stamps})`,
    `INSERT INTO loan_programs (id, company_id, environment, code, name, borrower_type, currency, min_amount, max_amount,
       min_tenor_months, max_tenor_months, annual_rate_min, annual_rate_max, rate_type, eligibility, required_documents,
       required_consents, status, created_at, updated_at)
     VALUES (1, 1, 'production', 'P', 'P', 'individual', 'MYR', 1, 2, 1, 2, 1, 2, 'flat', '{}', '[]', '[]', 'active', ${stamps})`,
    loan(1, "draft", 1, false),
    loan(2, "submitted", 1, false),
    loan(3, "submitted", null, false),
    loan(4, "draft", 1, true),
    definition(1, "30"),
    definition(2, "NULL"),
    consent(1, 2, 1, "granted", "'2026-04-09T00:00:00.000Z'"),
    consent(2, 2, 2, "granted", "NULL"),
    consent(3, 4, 1, "expired", at),
    `INSERT INTO audit_log (id, company_id, at, actor_kind, origin, request_id, operation, outcome, target_type, target_id,
       input, withheld, changes)
     VALUES (1, 1, ${at}, 'system', 'rest', 'r', 'update_loan_application', 'ok', 'loan_application', 4,
       '{"borrower":{"name":"O''Brien"},"tenor_months":12}', '["/answers"]', '{"purpose":{"old":null,"new":"A car"}}')`,
  ];
  const find = async (query: string) => {
    const found = await migrateWithRows("loan_terms_and_agents", rows, query);
    return found.map((row) =>
      Object.values(row).map((value) => {
        if (value instanceof Date) return value.toISOString();
        return typeof value === "string" && /^[[{]/.test(value) ? JSON.parse(value) : value;
      }),
    );
  };
  const form = { title: "T", fields: [] };
  const asked = [{ kind: "field", code: "job", note: null }];
  const loans =
    "SELECT form_snapshot, requested, borrower_name, purpose, external_reference FROM loan_applications";
  expect(await find(`${loans} ORDER BY id`)).toEqual([
    [null, asked, "O'Brien", "A car", "E-1"],
    [form, asked, "O'Brien", "A car", "E-2"],
    [null, asked, "O'Brien", "A car", "E-3"],
    [null, asked, "", null, null],
  ]);
  expect(await find("SELECT expires_at, subject_name, subject_ic_last4 FROM consents ORDER BY id")).toEqual([
    ["2026-03-28T12:30:00.125Z", "O'Brien", "5678"],
    [null, "O'Brien", "5678"],
    ["2026-03-10T00:00:00.000Z", "", null],
  ]);
  expect(await find("SELECT input, withheld, changes FROM audit_log")).toEqual([
    [{ tenor_months: 12 }, ["/answers", "/borrower", "/purpose"], {}],
  ]);
  const deleted = await find("SELECT borrower, answers FROM loan_applications WHERE id = 4");
  expect(JSON.stringify(deleted)).not.toMatch(/Brien|900131|Nurse/);
});
