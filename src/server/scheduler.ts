import { Cron } from "croner";
import type { Deps } from "../app/deps.ts";
import { FairWork } from "../core/fair_scheduler.ts";
import { type Job, JOBS } from "./jobs.ts";
import { listCompanies } from "../tenancy/companies/queries.ts";

/** Learns of a company for which a job failed. */
type OnFailure = (company_id: number, error: unknown) => void;

/**
 * Runs a job now for every company, or for those that have something to do, unless another instance is at it.
 * Returns whether it ran.
 */
export async function runJob(deps: Deps, job: Job, onFailure?: OnFailure): Promise<boolean> {
  if (job.due) {
    await runForAll(deps, job, await job.due(deps.store.read, deps.clock.now()), onFailure);
    return true;
  }
  const lock = await deps.store.lock(`job ${job.name}`);
  if (lock === null) return false;
  try {
    const ids = (await listCompanies(deps.store.read)).map(({ id }) => id);
    await runForAll(deps, job, ids, onFailure);
  } finally {
    await lock.release();
  }
  return true;
}

function runForAll(deps: Deps, job: Job, companies: readonly number[], onFailure?: OnFailure): Promise<void> {
  return new FairWork(job.at_once ?? 1).finish(companies, (id) => runFor(deps, job, id, onFailure));
}

async function runFor(deps: Deps, job: Job, company_id: number, onFailure?: OnFailure): Promise<void> {
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
    onFailure?.(company_id, error);
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
    return new Cron(job.cron, { utcOffset: 0, protect: true, name }, () => start(job));
  });
  for (const job of JOBS) if (job.runs_at_start) void start(job);
  return async () => {
    for (const timer of timers) timer.stop();
    await Promise.all(running);
    for (const share of shares.values()) await share.idle();
  };
}
