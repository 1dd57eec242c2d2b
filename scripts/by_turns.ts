// Which test files a check leaves to the checks of other commits.
import { hasTurn } from "../test/support/properties.ts";

/** A check runs one in so many of them. */
const OF = 5;

/**
 * Test files that prove by many random cases, other layouts of the store or killed processes what others prove by
 * example, or start whole deployments: each commit's check runs a fifth of them, `--all` and `--changed` all.
 * docs/style.md.
 */
export const BY_TURNS = [
  "test/backup/{bad_target,take_point,verified_point}.test.ts",
  "test/backup/log/**",
  "test/backup/restore/clickhouse.test.ts",
  "test/billing/*/{histories,charge_histories,kill,verify_amounts,yearly_commitments}.test.ts",
  "test/billing/billing_model_changes/while_billed.test.ts",
  "test/billing/rating/properties.test.ts",
  "test/billing/running_bills/running_bills.test.ts",
  "test/billing/runs/runs_inputs.test.ts",
  "test/chaos/**",
  "test/cli/{database_outages,executable,first_start,import_through_server,usage_link}.test.ts",
  "test/console/{demo,erasures,forms,imports,invitation,keyboard,kit,life,records,roles,usage}.test.ts",
  "test/demo/demo.test.ts",
  "test/docs/{azure_trace,tour}.test.ts",
  "test/emandate/unattended.test.ts",
  "test/{emandate,entitlements,loans}/*/kill.test.ts",
  "test/entitlements/checks/clock_changes.test.ts",
  "test/idempotency/kill.test.ts",
  "test/server/{clickhouse_tls,clickhouse_usage,instances}.test.ts",
  "test/server/internal/{access,instances,roll_out,shared_work,unreachable}.test.ts",
  "test/{sim,soak}/**",
  "test/store/{kill,program_before}.test.ts",
  "test/usage/*/kill.test.ts",
  "test/usage/export/export.test.ts",
  "test/usage/import/{blocks,grown_files,hostile_lines,odd_files}.test.ts",
  "test/usage/search/{fair_search,long_answers,search_model}.test.ts",
  "test/usage_store/clickhouse/**",
  "test/usage_store/duckdb/{compacted_conformance,compacting_conformance,damage,day_sums,export}.test.ts",
  "test/usage_store/duckdb/{group_sums,kill,layout,recovery,removal_kill,running_totals}.test.ts",
];

/** Those of all test files that a check leaves to others. */
export function testsOfOtherTurns(files: readonly string[], turn: number): Set<string> {
  const patterns = BY_TURNS.map((pattern) => new Bun.Glob(pattern));
  const turning = files.filter((file) => patterns.some((pattern) => pattern.match(file)));
  return new Set(turning.filter((_, i) => !hasTurn(i, turn, OF)));
}

/** All test files, by name. */
export const testFiles = (): string[] => [...new Bun.Glob("test/**/*.test.ts").scanSync()].toSorted();
