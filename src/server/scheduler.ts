import { Cron } from "croner";
import type { Job } from "../app/context.ts";
import type { Deps } from "../app/deps.ts";
import { FairWork } from "../core/fair_scheduler.ts";
import { AUDIT_JOBS } from "../audit/jobs.ts";
import { AUTHORIZATION_JOBS } from "../access/oauth/jobs.ts";
import { BILLING_JOBS } from "../billing/runs/jobs.ts";
import { EMANDATE_CONFIG_JOBS } from "../emandate/merchant_config/jobs.ts";
import { EVENT_JOBS } from "../webhooks/events/jobs.ts";
import { COLLECTION_JOBS } from "../emandate/collections/jobs.ts";
import { IDEMPOTENCY_JOBS } from "../idempotency/jobs.ts";
import { BILLING_MODEL_CHANGE_JOBS } from "../billing/billing_model_changes/jobs.ts";
import { CREDIT_JOBS } from "../billing/credits/jobs.ts";
import { LOAN_APPLICATION_JOBS } from "../loans/applications/jobs.ts";
import { LOAN_CONSENT_JOBS } from "../loans/consents/jobs.ts";
import { LOAN_DOCUMENT_JOBS } from "../loans/documents/jobs.ts";
import { USAGE_JOBS } from "../usage/jobs.ts";
import { SESSION_JOBS } from "../access/sessions/jobs.ts";
import { WEBHOOK_SECRET_JOBS } from "../webhooks/endpoints/jobs.ts";
import { WEBHOOK_JOBS } from "../webhooks/deliveries/jobs.ts";
import { MANDATE_ORDER_JOBS } from "../emandate/results/jobs.ts";
import { MANDATE_JOBS } from "../emandate/mandates/jobs.ts";
import { listCompanies } from "../tenancy/companies/queries.ts";

export const JOBS: readonly Job[] = [
  ...BILLING_JOBS,
  ...USAGE_JOBS,
  ...EVENT_JOBS,
  ...WEBHOOK_JOBS,
  ...WEBHOOK_SECRET_JOBS,
  ...AUDIT_JOBS,
  ...IDEMPOTENCY_JOBS,
  ...AUTHORIZATION_JOBS,
  ...SESSION_JOBS,
  ...BILLING_MODEL_CHANGE_JOBS,
  ...CREDIT_JOBS,
  ...MANDATE_JOBS,
  ...MANDATE_ORDER_JOBS,
  ...COLLECTION_JOBS,
  ...EMANDATE_CONFIG_JOBS,
  ...LOAN_APPLICATION_JOBS,
  ...LOAN_DOCUMENT_JOBS,
  ...LOAN_CONSENT_JOBS,
];

/**
 * Runs a job now for every company, or for those that have something to do, unless another instance is at it.
 * Returns whether it ran.
 */
export async function runJob(deps: Deps, job: Job): Promise<boolean> {
  if (job.due) {
    await runForAll(deps, job, await job.due(deps.store.read, deps.clock.now()));
    return true;
  }
  const lock = await deps.store.lock(`job ${job.name}`);
  if (lock === null) return false;
  try {
    const ids = (await listCompanies(deps.store.read)).map(({ id }) => id);
    await runForAll(deps, job, ids);
  } finally {
    await lock.release();
  }
  return true;
}

function runForAll(deps: Deps, job: Job, companies: readonly number[]): Promise<void> {
  return new FairWork(job.at_once ?? 1).finish(companies, (id) => runFor(deps, job, id));
}

async function runFor(deps: Deps, job: Job, company_id: number): Promise<void> {
  if (deps.background.is_stopping) return;
  const request_id = Bun.randomUUIDv7();
  const ctx = deps.openContext({
    actor: { kind: "system", company_id },
    origin: "job",
    request_id,
    address: null,
  });
  try {
    await job.run(ctx);
  } catch (error) {
    // One company's trouble must not keep the others waiting; the next run tries again.
    deps.log.error({ err: error, job: job.name, company_id, request_id }, "job failed");
  }
}

/** Starts every job at its times. Returns the switch that stops them and waits for those that run. */
export function startJobs(deps: Deps): () => Promise<void> {
  const running = new Set<Promise<unknown>>();
  const shares = new Map(JOBS.map((job) => [job, new FairWork(job.at_once ?? 1)]));
  const work = async (job: Job): Promise<void> => {
    const share = shares.get(job);
    if (!job.due || !job.at_once || !share) return void (await runJob(deps, job));
    // What is under way goes on while the next second looks for others.
    share.begin(await job.due(deps.store.read, deps.clock.now()), (id) => runFor(deps, job, id));
  };
  const start = async (job: Job): Promise<void> => {
    const run = work(job).catch((error) => deps.log.error({ err: error, job: job.name }, "job failed"));
    running.add(run);
    await run;
    running.delete(run);
  };
  const timers = JOBS.map((job) => {
    const name = `${job.name} ${crypto.randomUUID()}`;
    return new Cron(job.cron, { timezone: "UTC", protect: true, name }, () => start(job));
  });
  for (const job of JOBS) if (job.runs_at_start) void start(job);
  return async () => {
    for (const timer of timers) timer.stop();
    await Promise.all(running);
    for (const share of shares.values()) await share.idle();
  };
}
