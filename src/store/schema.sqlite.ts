import { sqliteColumns } from "./columns.sqlite.ts";
import { defineTables } from "./tables.ts";

// drizzle-kit writes data/migrations/sqlite from these exports; a test holds the list against defineTables.
export const {
  leases,
  companies,
  company_timezones,
  clients,
  users,
  products,
  billing_models,
  subscriptions,
  billing_model_changes,
  credit_thresholds,
  billing_runs,
  billing_records,
  forms,
  events,
  audit_log,
  agents,
  authorization_requests,
  authorizations,
  authorization_tokens,
  api_keys,
  idempotency_keys,
  webhooks,
  webhook_logs,
  loan_programs,
  loan_applications,
  loan_documents,
  consent_definitions,
  consents,
} = defineTables(sqliteColumns);
