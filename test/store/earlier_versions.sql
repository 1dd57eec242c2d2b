-- Rows in the shape of the version that wrote them, and of all before it they make its database. Statements that
-- both dialects take; TRUE and FALSE become 1 and 0 on SQLite. What is here is never changed, only added to.

-- since 0000_initial
INSERT INTO companies (id, name, timezone, currency, created_at, updated_at) VALUES (1, 'Acme', 'Asia/Kuala_Lumpur', 'MYR', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
INSERT INTO companies (id, name, timezone, currency, created_at, updated_at) VALUES (2, 'Other', 'UTC', 'USD', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
INSERT INTO company_timezones (company_id, timezone, set_at) VALUES (1, 'UTC', NULL);
INSERT INTO company_timezones (company_id, timezone, set_at) VALUES (1, 'Asia/Kuala_Lumpur', '2026-01-02T00:00:00.000Z');
INSERT INTO clients (id, name, company_id, deleted_at, created_at, updated_at) VALUES (1, 'Client One', 1, NULL, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
INSERT INTO clients (id, name, company_id, deleted_at, created_at, updated_at) VALUES (2, 'Gone', 1, '2026-01-03T00:00:00.000Z', '2026-01-01T00:00:00.000Z', '2026-01-03T00:00:00.000Z');
INSERT INTO products (id, name, company_id, deleted_at, created_at, updated_at) VALUES (1, 'API', 1, NULL, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
INSERT INTO users (id, email, role, company_id, client_id, password_hash, token_version, created_at, updated_at) VALUES (1, 'admin@example.com', 'admin', 1, NULL, '$HASH', 1, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
INSERT INTO users (id, email, role, company_id, client_id, password_hash, token_version, created_at, updated_at) VALUES (2, 'client@example.com', 'client', 1, 1, '$HASH', 1, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
INSERT INTO billing_models (id, name, billing_type_id, price, currency, description, company_id, recurring_fee, free_units, usage_tiers, package_size, minimum_charge, maximum_charge, charge_flat_on_zero, credit_plan, status, created_at, updated_at) VALUES (1, 'Per unit', 2, '0.10', 'MYR', '', 1, '5', '0', '[]', NULL, NULL, NULL, FALSE, NULL, 'active', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
INSERT INTO subscriptions (id, name, external_subscription_id, client_id, product_id, billing_model_id, company_id, started_at, ends_at, billing_anchor_day, created_at, updated_at) VALUES (1, 'One', 's1', 1, 1, 1, 1, '2026-01-01T00:00:00.000Z', NULL, 1, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
INSERT INTO billing_runs (id, company_id, status, dry_run, period, requested_by, counts, errors, finished_at, created_at, updated_at) VALUES (1, 1, 'finished', FALSE, NULL, NULL, '{}', '[]', '2026-02-01T01:00:00.000Z', '2026-02-01T01:00:00.000Z', '2026-02-01T01:00:00.000Z');
INSERT INTO billing_records (id, company_id, subscription_id, billing_model_id, billing_run_id, kind, sequence, adjusts_billing_record_id, currency, "billedUnits", "totalCharges", "billingStartAt", "billingEndAt", lines, usage_until, created_at, updated_at) VALUES (1, 1, 1, 1, 1, 'period', 0, NULL, 'MYR', '0', '5.00', '2026-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z', '[]', '2026-02-01T01:00:00.000Z', '2026-02-01T01:00:00.000Z', '2026-02-01T01:00:00.000Z');

-- since 0001_events
INSERT INTO events (id, company_id, message_id, type, data, created_at) VALUES (1, 1, 'evt_1', 'client.created', '{"id":1}', '2026-01-01T00:00:00.000Z');

-- since 0002_billing
INSERT INTO audit_log (id, company_id, at, actor_kind, user_id, email, role, origin, address, request_id, operation, outcome, target_type, target_id, input, withheld, changes) VALUES (1, 1, '2026-01-01T00:00:00.000Z', 'user', 1, 'admin@example.com', 'admin', 'rest', NULL, 'r1', 'create_client', 'ok', 'client', 1, '{}', '[]', NULL);
INSERT INTO forms (id, name, description, config, client_id, company_id, is_active, deleted_at, created_at, updated_at) VALUES (1, 'Form', NULL, '{"title":"T","fields":[]}', 1, 1, TRUE, NULL, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
INSERT INTO webhooks (id, company_id, url, event_types, description, status, disabled_reason, secrets, deleted_at, created_at, updated_at) VALUES (1, 1, 'https://hooks.example.com/', '["*"]', NULL, 'disabled', NULL, '[]', NULL, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');

-- since 0004_api_keys
INSERT INTO api_keys (id, company_id, "clientId", name, role, environment, secret_hash, last4, secret_version, created_at, updated_at) VALUES (1, 1, 'mhc_1', 'Ingest', 'ingest', 'production', 'x', 'abcd', 1, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');

-- since 0005_emandate_loans
INSERT INTO emandate_customers (id, company_id, name, email, phone, ic_number, created_at, updated_at) VALUES (1, 1, 'Siti', 'siti@example.com', NULL, '900131145678', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
INSERT INTO mandates (id, company_id, reference, customer_id, connector, application_type, status, max_amount, max_no_debit, frequency, failed_payments, created_at, updated_at) VALUES (1, 1, 'EM-1', 1, 'sandbox', '01', 'terminated', 10000, '1', 'Monthly', 0, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
INSERT INTO mandate_payments (id, company_id, mandate_id, period_key, due_date, debit_date, amount, status, attempt_count, created_at, updated_at) VALUES (1, 1, 1, '2026-01', '2026-01-05', '2026-01-05', 4200, 'paid', 1, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
INSERT INTO mandate_orders (id, company_id, mandate_id, payment_id, connector, kind, order_no, attempt_no, amount, status, awaits_since, submitted_at, completed_at, queries, created_at, updated_at) VALUES (1, 1, 1, 1, 'sandbox', 'debit', 'N1', 1, 4200, 'completed', '2026-01-05T00:00:00.000Z', '2026-01-05T00:00:00.000Z', '2026-01-05T00:00:00.000Z', 0, '2026-01-05T00:00:00.000Z', '2026-01-05T00:00:00.000Z');

-- since 0012_sign_in
UPDATE users SET name = 'Ada' WHERE id = 1;

-- since 0016_imported_files
INSERT INTO usage_imports (id, company_id, file_name, digest, bytes, rows, created_at, updated_at) VALUES (1, 1, 'january.csv', 'd', 10, 1, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');

-- since 0017_debit_holds
INSERT INTO debit_holds (id, company_id, reason, released_at, created_at, updated_at) VALUES (1, 2, 'the restore of a point', '2026-01-02T00:00:00.000Z', '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z');

-- since 0020_usage_erasures
INSERT INTO usage_erasures (id, company_id, status, subscription_ids, metadata_keys, ids, start_time, end_time, erased, conditions, last_seq, finished_at, created_at, updated_at) VALUES (1, 1, 'done', NULL, '["user"]', NULL, NULL, NULL, 0, NULL, 0, '2026-01-02T00:00:00.000Z', '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z');

-- since 0021_usage_retentions
INSERT INTO usage_retentions (id, company_id, since_ms, status, bills, last_bill_id, problem, proved_at, removed_events, created_at, updated_at) VALUES (1, 1, 1700000000000, 'done', 1, 1, NULL, '2026-01-01T00:00:00.000Z', 2, '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z');

-- since 0023_person_erasures
INSERT INTO person_erasures (id, company_id, status, subjects, records, traces, shipped_at, finished_at, created_at, updated_at) VALUES (1, 1, 'done', '[{"kind":"user","id":9}]', 3, NULL, NULL, '2026-01-02T00:00:00.000Z', '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z');
