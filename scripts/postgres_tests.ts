// Which test files run on PostgreSQL too.

/**
 * Test files that PostgreSQL is needed for. Together they send nine in ten of the distinct statements that all test files
 * send to it (counted on 2026-11-28: 2,116 of 2,340); `--all` runs every file there. docs/style.md.
 */
export const ON_POSTGRES = [
  // The store itself.
  "test/store/{batched_read,collection_files,commit_queue,copy_rows,earlier_versions,events_subject}.test.ts",
  "test/store/{kill,migrations,min_program,read_snapshot,s3_bucket,select_rows,store,voided_changes}.test.ts",
  "test/backup/restore/restore.test.ts",
  "test/cli/{database_outages,first_start}.test.ts",
  // Several instances on one database.
  "test/server/*.test.ts",
  "test/server/internal/**",
  "test/usage/{lanes,store_link}/**",
  "test/usage/uploads/instances.test.ts",
  "test/access/sessions/sign_ins_elsewhere.test.ts",
  // Locks, and what happens at once.
  "test/idempotency/**",
  "test/http/if_match.test.ts",
  "test/billing/billing_model_changes/concurrent.test.ts",
  "test/billing/billing_model_migrations/kill.test.ts",
  "test/billing/runs/{batches,takeovers}.test.ts",
  "test/emandate/collections/collections.test.ts",
  "test/entitlements/alerts/kill.test.ts",
  "test/entitlements/checks/{reservation_races,reservations}.test.ts",
  "test/webhooks/deliveries/kill.test.ts",
  // Queries of every family.
  "test/access/{authorizations,user_links}/*.test.ts",
  "test/audit/{audit_log,targets}.test.ts",
  "test/billing/billing_models/offers.test.ts",
  "test/billing/client_figures/*.test.ts",
  "test/billing/records/{listed_records,record_steps,records}.test.ts",
  "test/billing/simulations/simulations.test.ts",
  "test/emandate/products/products.test.ts",
  "test/emandate/results/{audit,silent_scheme}.test.ts",
  "test/entitlements/tenants.test.ts",
  "test/forms/forms.test.ts",
  "test/http/{csv,openapi_examples,sorted_lists}.test.ts",
  "test/loans/applications/{evidence,lists,users}.test.ts",
  "test/loans/{consent_definitions,programs}/*.test.ts",
  "test/loans/documents/bucket.test.ts",
  "test/mcp/{emandate,foreign_ids,loans,prices_and_limits,stale_cursors}.test.ts",
  "test/overview/*.test.ts",
  "test/people/erasures.test.ts",
  "test/usage/erasures/erasures.test.ts",
];

/** All of the test files, or those that PostgreSQL is needed for. */
export function testsOnPostgres(files: readonly string[], all: boolean): readonly string[] {
  if (all) return files;
  const patterns = ON_POSTGRES.map((pattern) => new Bun.Glob(pattern));
  return files.filter((file) => patterns.some((pattern) => pattern.match(file)));
}
