import { Cron } from "croner";
import type { Deps } from "../app/deps.ts";
import { AppError } from "../core/errors.ts";
import { nextTurn } from "../core/chunk.ts";
import { withTimeout } from "../core/time.ts";
import { FairWork } from "../core/fair_scheduler.ts";
import { span } from "../core/trace.ts";
import { intervalOf, jobFailures, jobSeconds, rememberSuccess } from "./job_runs/metrics.ts";
import { findLastBeginning, saveSuccess } from "./job_runs/queries.ts";
import { type Job, JOBS } from "./jobs.ts";
import { listCompanies } from "../tenancy/companies/queries.ts";

/** Learns of a company for which a job failed; null: it is none of a company. */
type OnFailure = (company_id: number | null, error: unknown) => void;

/** How often a job that waits looks whether it may begin. */
const WAIT_MS = 1_000;

/**
 * Runs a job now for every company, or for those that have something to do, unless another instance is at it.
 * Returns whether it ran. Errors: conflict while it has to wait.
 */
export async function runJob(deps: Deps, job: Job, onFailure?: OnFailure): Promise<boolean> {
  const problem = deps.guards.problemFor(job.goes_on);
  if (problem !== null) throw new AppError("conflict", `Cannot run ${job.name}: ${problem}`);
  if (job.due) {
    const due = await job.due(deps.store.read, deps.clock.now());
    if (await runForAll(deps, job, due, onFailure)) rememberSuccess(job.name, deps.clock.now());
    return true;
  }
  return runUnderLock(deps, job, onFailure);
}

const isOfEach = ({ instances }: Deps, { at_each_instance = false }: Job) =>
  at_each_instance && instances.url !== null;

const lockOf = (deps: Deps, job: Job) =>
  isOfEach(deps, job) ? `job ${job.name} of instance ${deps.instances.id}` : `job ${job.name}`;

/** Runs a job at a time of its, unless another instance has: a job of each runs at each. Returns whether it ran. */
export function runAtItsTime(deps: Deps, job: Job): Promise<boolean> {
  return runUnderLock(deps, job, undefined, async () => !isOfEach(deps, job) && hasRunElsewhere(deps, job));
}

async function runUnderLock(
  deps: Deps,
  job: Job,
  onFailure?: OnFailure,
  isDone: () => Promise<boolean> = () => Promise.resolve(false),
): Promise<boolean> {
  const lock = await deps.store.lock(lockOf(deps, job));
  if (lock === null) return false;
  try {
    if (await isDone()) return false;
    const began = deps.clock.now();
    const runAll = async () =>
      runForAll(
        deps,
        job,
        (await listCompanies(deps.store.read)).map(({ id }) => id),
        onFailure,
      );
    if (await (job.whole ? runFor(deps, job, null, onFailure) : runAll())) await saveRun(deps, job, began);
  } finally {
    await lock.release();
  }
  return true;
}

/**
 * Whether another instance has run a job at this time of its: their timers are some seconds apart. One that failed there
 * is tried here.
 */
async function hasRunElsewhere({ instances, store, clock }: Deps, job: Job): Promise<boolean> {
  if (instances.url === null) return false;
  const began = await findLastBeginning(store.read, job.name);
  return began !== null && clock.now().since(began).total("seconds") < intervalOf(job) / 2;
}

/** Whether it ended well for every company. */
async function runForAll(
  deps: Deps,
  job: Job,
  companies: readonly number[],
  onFailure?: OnFailure,
): Promise<boolean> {
  let succeeded = 0;
  await new FairWork(job.at_once ?? 1).finish(companies, async (id) => {
    if (await runForCompany(deps, job, id, onFailure)) succeeded++;
  });
  return succeeded === companies.length;
}

/**
 * Whether it ended well, or another instance is at it: those that look for what is due all find the same, and one does
 * it.
 */
async function runForCompany(
  deps: Deps,
  job: Job,
  company_id: number,
  onFailure?: OnFailure,
): Promise<boolean> {
  if (!job.due || deps.instances.url === null) return runFor(deps, job, company_id, onFailure);
  try {
    const lock = await deps.store.lock(`job ${job.name} of company ${company_id}`);
    if (lock === null) return true;
    try {
      return await runFor(deps, job, company_id, onFailure);
    } finally {
      await lock.release();
    }
  } catch (error) {
    deps.log.error({ err: error, job: job.name, company_id }, "job failed");
    onFailure?.(company_id, error);
    return false;
  }
}

/** Whether it ended well. */
async function runFor(
  deps: Deps,
  job: Job,
  company_id: number | null,
  onFailure?: OnFailure,
): Promise<boolean> {
  if (deps.background.is_stopping) return false;
  const began_ms = performance.now();
  const request_id = Bun.randomUUIDv7();
  const work = async (): Promise<unknown> => {
    if (company_id === null) return job.whole?.(deps);
    const actor = { kind: "system", company_id } as const;
    return job.run?.(deps.openContext({ actor, origin: "job", request_id, address: null }));
  };
  try {
    await span(`job ${job.name}`, { parent: null, attributes: { "meterhouse.job": job.name } }, work);
    return true;
  } catch (error) {
    // One company's trouble must not keep the others waiting; the next run tries again.
    deps.log.error({ err: error, job: job.name, company_id, request_id }, "job failed");
    onFailure?.(company_id, error);
    jobFailures.of(job.name).add();
    return false;
  } finally {
    jobSeconds.of(job.name).observeSince(began_ms);
  }
}

/** Records that a job ended well; where that fails it looks as if the job had not run. */
async function saveRun({ store, clock, log }: Deps, job: Job, began: Temporal.Instant): Promise<void> {
  await store
    .tx((q) => saveSuccess(q, job.name, { began, ended: clock.now() }))
    .catch((error: unknown) => log.warn({ err: error, job: job.name }, "the end of a job is not recorded"));
}

/** Starts every job at its times. Returns the switch that stops them and waits for those that run. */
export function startJobs(deps: Deps): () => Promise<void> {
  const running = new Set<Promise<unknown>>();
  const shares = new Map(JOBS.map((job) => [job, new FairWork(job.at_once ?? 1)]));
  const stopped = Promise.withResolvers<true>();
  /** Whether it may begin: false where the service stopped before. A run that waits is not left out. */
  const mayBegin = async ({ goes_on }: Job): Promise<boolean> => {
    while (deps.guards.problemFor(goes_on) !== null)
      if (await withTimeout(stopped.promise, WAIT_MS)) return false;
    return true;
  };
  const work = async (job: Job, is_start: boolean): Promise<void> => {
    if (!(await mayBegin(job))) return;
    const share = shares.get(job);
    if (!job.due && !is_start) {
      await runAtItsTime(deps, job);
      return;
    }
    if (!job.due || !job.at_once || !share) return void (await runJob(deps, job));
    // What is under way goes on while the next second looks for others.
    const due = await job.due(deps.store.read, deps.clock.now());
    if (due.length === 0) rememberSuccess(job.name, deps.clock.now());
    share.begin(due, async (id) => {
      if (await runForCompany(deps, job, id)) rememberSuccess(job.name, deps.clock.now());
    });
  };
  const start = async (job: Job, is_start = false): Promise<void> => {
    // Many are due at the same second: requests get their turn between any two.
    const run = nextTurn()
      .then(() => work(job, is_start))
      .catch((error) => deps.log.error({ err: error, job: job.name }, "job failed"));
    running.add(run);
    await run;
    running.delete(run);
  };
  const jobs = JOBS.filter(({ among_several = false }) => !among_several || deps.instances.url !== null);
  const timers = jobs.map((job) => {
    const name = `${job.name} ${crypto.randomUUID()}`;
    return new Cron(job.cron, { utcOffset: 0, protect: true, name }, () => start(job));
  });
  for (const job of JOBS) if (job.runs_at_start) void start(job, true);
  return async () => {
    for (const timer of timers) timer.stop();
    stopped.resolve(true);
    await Promise.all(running);
    for (const share of shares.values()) await share.idle();
  };
}
