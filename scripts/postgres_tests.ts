// Which test files run on PostgreSQL too.

/**
 * Test files that PostgreSQL is needed for. Together they send 93 % of the distinct statements that all test files send
 * to it (measured 2026-11-28: 2,135 of 2,307), in a third of the time; `--all` runs every file there. docs/style.md.
 */
export const ON_POSTGRES = [
  // The store itself.
  "test/store/{batched_read,collection_files,commit_queue,earlier_versions,events_subject}.test.ts",
  "test/store/{kill,migrations,min_program,read_snapshot,s3_bucket,select_rows,store,voided_changes}.test.ts",
  "test/backup/restore/**",
  "test/backup/verified_point.test.ts",
  "test/cli/{database_outages,first_start,serve}.test.ts",
  // Several instances on one database.
  "test/server/**",
  "test/usage/{lanes,store_link}/**",
  "test/usage/uploads/instances.test.ts",
  "test/access/sessions/{hashes,sign_ins_elsewhere}.test.ts",
  // Locks, and what happens at once.
  "test/idempotency/**",
  "test/billing/billing_model_changes/{changes,concurrent,follow_time_zones}.test.ts",
  "test/billing/billing_model_migrations/kill.test.ts",
  "test/billing/runs/{batches,jobs,runs,runs_failures,takeovers}.test.ts",
  "test/entitlements/tenants.test.ts",
  "test/entitlements/alerts/kill.test.ts",
  "test/entitlements/checks/{checks,reservations}.test.ts",
  "test/loans/documents/bucket_kill.test.ts",
  "test/webhooks/deliveries/{kill,many_endpoints,prune}.test.ts",
  // Queries of every family.
  "test/access/{authorizations,browser_sessions,user_links,users}/*.test.ts",
  "test/audit/{audit_log,targets}.test.ts",
  "test/billing/billing_models/offers.test.ts",
  "test/billing/{client_figures,features,margins,meters,revenue}/*.test.ts",
  "test/billing/credits/{credit_list,thresholds}.test.ts",
  "test/billing/proof/proof.test.ts",
  "test/billing/records/{listed_records,record_steps,records}.test.ts",
  "test/emandate/*/{collections,customers,mandates,products}.test.ts",
  "test/emandate/results/{audit,corrections,silent_scheme}.test.ts",
  "test/forms/forms.test.ts",
  "test/http/{csv,openapi_examples,sorted_lists}.test.ts",
  "test/loans/applications/{evidence,journey,lists,users}.test.ts",
  "test/loans/{consent_definitions,consents,programs}/*.test.ts",
  "test/mcp/{emandate,ids,loans,stale_cursors}.test.ts",
  "test/overview/*.test.ts",
  "test/people/erasures.test.ts",
];

/** All of them, or those that PostgreSQL is needed for. */
export function testsOnPostgres(all: boolean): string[] {
  const files = [...new Bun.Glob("test/**/*.test.ts").scanSync()].toSorted();
  if (all) return files;
  const patterns = ON_POSTGRES.map((pattern) => new Bun.Glob(pattern));
  return files.filter((file) => patterns.some((pattern) => pattern.match(file)));
}
