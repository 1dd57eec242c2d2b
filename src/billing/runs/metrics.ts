import { scopeOf } from "../../core/access.ts";
import { gauge } from "../../core/metrics.ts";
import type { BillingJob } from "./billing_job.ts";

/** How the last regular run of a company stands: periods that it has yet to bill, subscriptions that it can't. */
interface Standing {
  due: number;
  failed: number;
}

/** By company: those whose last run left something. */
const standings = new Map<number, Standing>();

/** Remembers how a run stands, with `due` periods in hand: one over everything that is due, as each hour's is. */
export function reportStanding(run: BillingJob, due: number): void {
  const { ctx, progress, dry_run, period, closed_since, subscription_ids } = run;
  if (dry_run || period !== undefined || closed_since || subscription_ids) return;
  const { company_id } = scopeOf(ctx.actor);
  const failed = progress.failures;
  if (due + failed === 0) standings.delete(company_id);
  else standings.set(company_id, { due, failed });
}

const sumOf = (name: keyof Standing) => () =>
  standings.values().reduce((sum, standing) => sum + standing[name], 0);

gauge(
  "meterhouse_bills_due",
  "Periods that the last hourly billing runs found due and have not billed, so far or at all",
  sumOf("due"),
);
gauge(
  "meterhouse_bills_failed",
  "Subscriptions that the last hourly billing runs could not bill",
  sumOf("failed"),
);
