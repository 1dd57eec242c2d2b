// Which test files run on PostgreSQL too.

/**
 * Test files that need no PostgreSQL: they send no statement that another file does not, and test no concurrency of it.
 * `--all` runs them there too. docs/style.md.
 */
export const ON_SQLITE_ALONE = [
  // Rules without I/O, and the repository itself.
  "test/tidy.test.ts",
  "test/scripts/**",
  "test/cli/control_socket.test.ts",
  "test/cli/configuration.test.ts",
  "test/cli/search_and_export.test.ts",
  "test/cli/{loaded_modules,completion,executable}.test.ts",
  "test/cli/import_through_server.test.ts",
  "test/usage/import/blocks.test.ts",
  "test/bench/**",
  "test/docs/tour.test.ts",
  "test/core/**",
  "test/deploy/**",
  // The demo keeps its records in SQLite.
  "test/demo/**",
  // What browsers see: the interface behind it has tests of its own.
  "test/console/*.test.ts",
  "test/app/**",
  "test/**/rules.test.ts",
  "test/people/{columns,traces}.test.ts",
  "test/billing/rating/**",
  "test/emandate/products/amounts.test.ts",
  "test/forms/answers.test.ts",
  "test/loans/applications/{eligibility,instalments}.test.ts",
  "test/emandate/results/classify_{mandate,payment}_result.test.ts",
  "test/emandate/scheme/**",
  // Usage events are in DuckDB, whichever database is beside it.
  "test/usage_store/**",
  "test/usage/{export,import,search,ingest}/**",
  "test/usage/subscription_key.test.ts",
  "test/usage/erasures/kill.test.ts",
  "test/cli/erase.test.ts",
  "test/cli/erase_person.test.ts",
  "test/store/program_before.test.ts",
  "test/backup/{bad_target,retention,take_point,target}.test.ts",
  "test/backup/log/**",
  "test/{chaos,sim,soak}/**",
  "test/billing/runs/charge_histories.test.ts",
  // Protocols: the operations under them are tested beside their tables.
  "test/{contract,mcp}/**",
  "test/docs/{azure_trace,mcp_guide,webhooks_guide}.test.ts",
  "test/http/{bodies,large_json,metrics,multipart,openapi,rejection_limit,requests}.test.ts",
  "test/access/oauth/{registration,tokens}.test.ts",
  "test/webhooks/deliveries/send.test.ts",
  // Inputs that are refused before they reach a query.
  "test/**/{refusals,rejections}.test.ts",
  "test/access/sessions/sign_in_limit.test.ts",
  "test/emandate/merchant_config/{banks,open_connector}.test.ts",
  // More cases of statements that other files send.
  "test/access/api_keys/{exchange,ingest}.test.ts",
  "test/audit/redaction.test.ts",
  "test/billing/billing_model_changes/{kill,timeline,void_change}.test.ts",
  "test/billing/add_ons/histories.test.ts",
  "test/billing/previews/histories.test.ts",
  "test/billing/billing_model_migrations/kill.test.ts",
  "test/entitlements/grants/windows.test.ts",
  "test/entitlements/kill.test.ts",
  "test/entitlements/totals/**",
  "test/docs/{limits_guide,llm_gateway}.test.ts",
  "test/billing/companies/**",
  "test/billing/credits/plan_changes.test.ts",
  "test/billing/records/{invoice_page,tampering,verify_amounts,verify_usage}.test.ts",
  "test/billing/runs/{arrival_order,corrected_calls,runs_inputs,starts,worked_examples*}.test.ts",
  "test/billing/subscriptions/cancel.test.ts",
  "test/cli/{clock_jumps,damage,disk_outages,full_disk}.test.ts",
  "test/store/damage.test.ts",
  "test/emandate/collections/kill.test.ts",
  "test/emandate/mandates/{actions,states}.test.ts",
  "test/emandate/merchant_config/merchant_config.test.ts",
  "test/emandate/payments/failed_and_skipped.test.ts",
  "test/emandate/results/{many_results,polling,result_files}.test.ts",
  "test/emandate/unattended.test.ts",
  "test/loans/applications/{applications,isolation}.test.ts",
  "test/loans/documents/{kill,uploads}.test.ts",
  "test/webhooks/deliveries/staging.test.ts",
  "test/webhooks/endpoints/sealed_secrets.test.ts",
];

/** All of them, or those that PostgreSQL is needed for. */
export function testsOnPostgres(all: boolean): string[] {
  const files = [...new Bun.Glob("test/**/*.test.ts").scanSync()].toSorted();
  if (all) return files;
  const excluded = ON_SQLITE_ALONE.map((pattern) => new Bun.Glob(pattern));
  return files.filter((file) => !excluded.some((pattern) => pattern.match(file)));
}
