import type { Context } from "../app/context.ts";
import type { Deps } from "../app/deps.ts";
import type { Wait } from "../app/guards.ts";
import { call } from "../app/operation.ts";
import { pruneAuthorizations } from "../access/oauth/service.ts";
import { pruneSessions } from "../access/sessions/service.ts";
import { pruneAuditLog } from "../audit/service.ts";
import { listCompaniesWithDueChanges } from "../billing/billing_model_changes/scheduled_queries.ts";
import { applyDueChanges } from "../billing/billing_model_changes/service.ts";
import { listCompaniesWithMigrations } from "../billing/billing_model_migrations/queries.ts";
import { carryOutMigrations } from "../billing/billing_model_migrations/service.ts";
import { listCompaniesWithCredits } from "../billing/credits/queries.ts";
import { watchedInstants } from "../billing/credits/rules.ts";
import { tellThresholds } from "../billing/credits/service.ts";
import { listCompaniesWithSimulations } from "../billing/simulations/queries.ts";
import { carryOnSimulations, pruneSimulations } from "../billing/simulations/run.ts";
import { LIMITS as BILLING_LIMITS } from "../billing/limits.ts";
import { listCompaniesWithSilentRuns } from "../billing/runs/queries.ts";
import { recheckBilling, runBilling, takeOverRuns } from "../billing/runs/service.ts";
import { listCompaniesWithSilentCollections } from "../emandate/collections/queries.ts";
import { collectDue, takeOverCollections } from "../emandate/collections/service.ts";
import { LIMITS as EMANDATE_LIMITS } from "../emandate/limits.ts";
import { listCompaniesWithExpiredMandates } from "../emandate/mandates/queries.ts";
import { expireMandates } from "../emandate/mandates/service.ts";
import { refreshEmandateBanks, resealEmandateKey } from "../emandate/merchant_config/service.ts";
import { listCompaniesWithDueOrders } from "../emandate/results/polling_queries.ts";
import { pollOrders, pruneSchemeCallbacks } from "../emandate/results/service.ts";
import { listCompaniesWithAlerts } from "../entitlements/alerts/queries.ts";
import { pruneAlertFirings } from "../entitlements/alerts/service.ts";
import { listCompaniesWithRunning } from "../billing/running_bills/queries.ts";
import { keepRunningBills } from "../billing/running_bills/service.ts";
import { tellAlerts } from "../entitlements/alerts/tell.ts";
import { endReservations } from "../entitlements/checks/service.ts";
import { listCompaniesWithEnded } from "../entitlements/reservations/queries.ts";
import { listCompaniesWithRated } from "../entitlements/spend_limits/queries.ts";
import { rateSpending } from "../entitlements/spend_limits/service.ts";
import { checkLimits, watchLimits } from "../entitlements/totals/service.ts";
import { pruneIdempotencyKeys } from "../idempotency/service.ts";
import { listCompaniesWithExpiredApplications } from "../loans/applications/queries.ts";
import { expireLoanApplications } from "../loans/applications/expiry.ts";
import { listCompaniesWithDueConsents } from "../loans/consents/queries.ts";
import { expireConsents } from "../loans/consents/service.ts";
import { sweepLoanDocuments } from "../loans/documents/service.ts";
import { listCompaniesWithPersonErasures } from "../people/queries.ts";
import { applyBillRetention, carryOutPersonErasures } from "../people/service.ts";
import type { Reads } from "../store/store.ts";
import { verifyNewestBackup } from "./verify_backup.ts";
import { checkRecords } from "./check_records.ts";
import { shipErasures } from "./ship_erasures.ts";
import { checkUsage, describeSums } from "../usage/consistency_check.ts";
import { listCompaniesWithErasures } from "../usage/erasures/queries.ts";
import { carryOutErasures } from "../usage/erasures/service.ts";
import { applyUsageRetention } from "../usage/retention/service.ts";
import { listCompaniesWithUploads } from "../usage/uploads/queries.ts";
import { carryOnUploads, pruneUsageUploads } from "../usage/uploads/run.ts";
import { pruneWebhookLogs } from "../webhooks/deliveries/service.ts";
import { resealWebhookSecrets } from "../webhooks/endpoints/service.ts";
import { pruneEvents } from "../webhooks/events/service.ts";

/**
 * A scheduled job, run for one company at a time, or once for all of them. It does everything due by `ctx.now`, so that the next run makes up
 * for a missed one, and running twice does no harm.
 */
export interface Job {
  name: string;
  summary: string;
  /** A cron expression with seconds, read in UTC. */
  cron: string;
  /** Whether it also runs once when the service starts, for what fell due meanwhile. */
  runs_at_start?: boolean;
  /** The companies with something to do, by one cheap query under no lock: for jobs of every second. Decision 0322. */
  due?(q: Reads, now: Temporal.Instant): Promise<number[]>;
  /** Whether it runs by itself only where there are several instances. */
  among_several?: boolean;
  /** Whether each instance runs it, since it sees to files in DATA_DIR; else one does, for all. */
  at_each_instance?: boolean;
  /** What it does not wait for; most jobs write, and by what time it is. */
  goes_on?: readonly Wait[];
  /** How many companies at once, where the job waits for others on the network; without it one by one. */
  at_once?: number;
  run?(ctx: Context): Promise<unknown>;
  /** In place of `run`, for what is the deployment's and not a company's. */
  whole?(deps: Deps): Promise<unknown>;
}

/** Every job, as `job --help` lists them. */
export const JOBS: readonly Job[] = [
  {
    name: "billing_run",
    summary: "Bill every period that has ended and has no record",
    // Not on the hour itself: a timer that is a moment early would find the grace not over yet.
    cron: "10 0 * * * *",
    run: (ctx) => call(ctx, runBilling, {}),
  },
  {
    name: "billing_recheck",
    summary: "Adjust the bills of the last 90 days that usage came late for",
    cron: "10 30 2 * * *",
    run: (ctx) => call(ctx, recheckBilling, {}),
  },
  {
    name: "billing_run_takeovers",
    summary: "End billing runs whose instance died, and go on with them",
    cron: "*/10 * * * * *",
    among_several: true,
    due: listCompaniesWithSilentRuns,
    at_once: BILLING_LIMITS.billing_takeovers,
    run: (ctx) => call(ctx, takeOverRuns, {}),
  },
  {
    name: "simulations",
    summary: "Carry on with simulations of prices",
    cron: "* * * * * *",
    due: listCompaniesWithSimulations,
    at_once: 1,
    goes_on: ["clock"],
    run: (ctx) => call(ctx, carryOnSimulations, {}),
  },
  {
    name: "simulations_prune",
    summary: "Delete simulations that were deleted, or are older than 90 days",
    cron: "40 20 3 * * *",
    goes_on: ["disk", "clock"],
    run: (ctx) => call(ctx, pruneSimulations, {}),
  },
  {
    name: "usage_uploads",
    summary: "Import files of usage that were uploaded",
    cron: "* * * * * *",
    due: listCompaniesWithUploads,
    run: (ctx) => call(ctx, carryOnUploads, {}),
  },
  {
    name: "usage_uploads_prune",
    summary: "Delete files of usage that were uploaded over 7 days ago, or that a killed process left",
    cron: "50 25 3 * * *",
    at_each_instance: true,
    goes_on: ["disk", "clock"],
    run: (ctx) => call(ctx, pruneUsageUploads, {}),
  },
  {
    name: "usage_check",
    summary: "Compare the sums of usage by hour with the events",
    cron: "20 15 3 * * *",
    goes_on: ["disk", "clock"],
    async run(ctx) {
      const found = await call(ctx, checkUsage, {});
      // The scheduler logs it as an error.
      if (found.different > 0) throw new Error(describeSums(found));
    },
  },
  {
    name: "records_check",
    summary: "Check the structure of the database's file",
    cron: "20 5 4 * * *",
    goes_on: ["disk", "clock"],
    whole: checkRecords,
  },
  {
    name: "backup_verify",
    summary: "Restore the newest backup into a scratch folder and prove that it is whole",
    cron: "20 35 4 * * 0",
    goes_on: ["disk", "clock"],
    whole: verifyNewestBackup,
  },
  {
    name: "usage_erasures",
    summary: "Carry out the erasures of usage metadata that were asked for",
    cron: "* * * * * *",
    due: listCompaniesWithErasures,
    run: (ctx) => call(ctx, carryOutErasures, {}),
  },
  {
    name: "usage_retention",
    summary: "Remove usage events older than USAGE_RETENTION_MONTHS, once their bills are proved",
    cron: "40 50 2 * * *",
    run: (ctx) => call(ctx, applyUsageRetention, {}),
  },
  {
    name: "person_erasures",
    summary: "Carry out the erasures of people that were asked for",
    cron: "* * * * * *",
    due: listCompaniesWithPersonErasures,
    run: (ctx) => call(ctx, carryOutPersonErasures, {}),
  },
  {
    name: "bill_retention",
    summary: "Erase deleted clients whose last subscription ended BILL_RETENTION_YEARS ago",
    cron: "40 40 3 * * *",
    run: (ctx) => call(ctx, applyBillRetention, {}),
  },
  {
    name: "erased_ids",
    summary: "Write the ids of erased events and people beside the backups",
    cron: "35 * * * * *",
    goes_on: ["clock"],
    run: shipErasures,
  },
  {
    name: "event_prune",
    summary: "Delete events older than 90 days",
    cron: "10 45 3 * * *",
    goes_on: ["disk"],
    run: (ctx) => call(ctx, pruneEvents, {}),
  },
  {
    name: "webhook_log_prune",
    summary: "Delete webhook deliveries that ended more than 30 days ago",
    cron: "40 45 3 * * *",
    goes_on: ["disk"],
    run: (ctx) => call(ctx, pruneWebhookLogs, {}),
  },
  {
    name: "webhook_reseal",
    summary: "Encrypt webhook secrets with the newest key of SECRETS_KEY",
    cron: "55 35 3 * * *",
    runs_at_start: true,
    goes_on: ["clock"],
    run: (ctx) => call(ctx, resealWebhookSecrets, {}),
  },
  {
    name: "audit_log_prune",
    summary: "Delete entries of the audit log that are older than AUDIT_LOG_DAYS",
    cron: "40 45 3 * * *",
    goes_on: ["disk"],
    run: (ctx) => call(ctx, pruneAuditLog, {}),
  },
  {
    name: "idempotency_keys_prune",
    summary: "Delete Idempotency-Keys that are older than 24 hours",
    cron: "50 20 * * * *",
    goes_on: ["disk"],
    run: (ctx) => call(ctx, pruneIdempotencyKeys, {}),
  },
  {
    name: "authorizations_prune",
    summary: "Delete expired codes and tokens, and unused OAuth clients",
    cron: "10 35 * * * *",
    goes_on: ["disk"],
    run: (ctx) => call(ctx, pruneAuthorizations, {}),
  },
  {
    name: "sessions_prune",
    summary: "Delete ended browser sessions, and links and signed-out tokens that have expired",
    cron: "25 35 * * * *",
    goes_on: ["disk"],
    run: (ctx) => call(ctx, pruneSessions, {}),
  },
  {
    name: "billing_model_changes",
    summary: "Apply due billing model changes",
    cron: "* * * * * *",
    due: listCompaniesWithDueChanges,
    run: (ctx) => call(ctx, applyDueChanges, {}),
  },
  {
    name: "billing_model_migrations",
    summary: "Move subscriptions to the billing models that migrations name",
    cron: "* * * * * *",
    due: listCompaniesWithMigrations,
    run: (ctx) => call(ctx, carryOutMigrations, {}),
  },
  {
    name: "credit_thresholds",
    summary: "Record events for subscriptions that have used up 80 or 100 percent of their credits",
    cron: "30 * * * * *",
    due: (q, now) => listCompaniesWithCredits(q, watchedInstants(now)[1]),
    run: (ctx) => call(ctx, tellThresholds, {}),
  },
  {
    name: "reservations_end",
    summary: "Delete reservations of usage that have ended",
    cron: "*/5 * * * * *",
    due: listCompaniesWithEnded,
    goes_on: ["disk"],
    run: (ctx) => call(ctx, endReservations, {}),
  },
  {
    name: "running_bills",
    summary: "Rate what running periods come to where usage came",
    cron: "5,35 * * * * *",
    due: listCompaniesWithRunning,
    run: (ctx) => call(ctx, keepRunningBills, {}),
  },
  {
    name: "spend_limits",
    summary: "Rate what subscriptions with a spend limit, or of alerts on charges, have come to",
    cron: "*/2 * * * * *",
    due: listCompaniesWithRated,
    goes_on: ["disk", "clock"],
    run: (ctx) => call(ctx, rateSpending, {}),
  },
  {
    name: "alerts",
    summary: "Tell of thresholds of alerts and of limits that are reached",
    cron: "1-59/2 * * * * *", // Between the ratings of what is spent.
    due: listCompaniesWithAlerts,
    run: (ctx) => call(ctx, tellAlerts, {}),
  },
  {
    name: "alert_firings_prune",
    summary: "Delete what deleted alerts told, or was told of windows that ended 400 days ago",
    cron: "20 40 3 * * *",
    goes_on: ["disk", "clock"],
    run: (ctx) => call(ctx, pruneAlertFirings, {}),
  },
  {
    name: "limits_watch",
    summary: "Keep totals of every limit and alert, and of no other",
    cron: "15 5 * * * *",
    runs_at_start: true,
    goes_on: ["disk", "clock"],
    run: (ctx) => call(ctx, watchLimits, {}),
  },
  {
    name: "limits_check",
    summary: "Compare the totals of limits with the stored usage",
    cron: "30 20 4 * * *",
    goes_on: ["disk", "clock"],
    run: (ctx) => call(ctx, checkLimits, {}),
  },
  {
    name: "mandates_expire",
    summary: "Expire mandates whose last day has passed",
    cron: "* * * * * *",
    due: listCompaniesWithExpiredMandates,
    run: (ctx) => call(ctx, expireMandates, {}),
  },
  {
    name: "mandate_orders",
    summary: "Query the debit scheme for the status of orders",
    cron: "* * * * * *",
    due: listCompaniesWithDueOrders,
    at_once: EMANDATE_LIMITS.scheme_companies,
    run: (ctx) => call(ctx, pollOrders, {}),
  },
  {
    name: "scheme_callbacks_prune",
    summary: "Delete callbacks of the debit scheme that are older than 400 days",
    cron: "10 55 3 * * *",
    goes_on: ["disk"],
    run: (ctx) => call(ctx, pruneSchemeCallbacks, {}),
  },
  {
    name: "collections",
    summary: "Debit what is due: collections, debits by hand and retries",
    // The quarters of an hour are the same in Kuala Lumpur.
    cron: "5 */15 * * * *",
    runs_at_start: true,
    run: (ctx) => call(ctx, collectDue, {}),
  },
  {
    name: "collection_takeovers",
    summary: "End collection runs whose instance died, and go on with them",
    cron: "5-55/10 * * * * *",
    among_several: true,
    due: listCompaniesWithSilentCollections,
    at_once: EMANDATE_LIMITS.collection_takeovers,
    run: (ctx) => call(ctx, takeOverCollections, {}),
  },
  {
    name: "emandate_banks",
    summary: "Refresh the list of banks, for companies that work with FPX",
    cron: "20 */5 * * * *",
    at_once: EMANDATE_LIMITS.scheme_companies,
    goes_on: ["clock"],
    run: (ctx) => call(ctx, refreshEmandateBanks, {}),
  },
  {
    name: "emandate_reseal",
    summary: "Encrypt private keys with the newest key of SECRETS_KEY",
    cron: "50 35 3 * * *",
    goes_on: ["clock"],
    run: (ctx) => call(ctx, resealEmandateKey, {}),
  },
  {
    name: "loan_application_expiry",
    summary: "Expire loan offers, drafts and action requests past their deadline",
    cron: "25 * * * * *",
    due: listCompaniesWithExpiredApplications,
    run: (ctx) => call(ctx, expireLoanApplications, {}),
  },
  {
    name: "loan_documents",
    summary:
      "Delete documents of applications that ended without a loan LOAN_DOCUMENT_DAYS ago, and orphaned files",
    cron: "20 25 3 * * *",
    at_each_instance: true,
    goes_on: ["disk"],
    run: (ctx) => call(ctx, sweepLoanDocuments, {}),
  },
  {
    name: "consent_expiry",
    summary: "Expire consents past their validity",
    cron: "45 * * * * *",
    due: listCompaniesWithDueConsents,
    run: (ctx) => call(ctx, expireConsents, {}),
  },
];
