import { Cron } from "croner";
import { counterBy, histogramBy, type Sample } from "../../core/metrics.ts";
import { type Job, JOBS } from "../jobs.ts";

export const jobSeconds = histogramBy(
  "meterhouse_job_duration_seconds",
  "Duration of jobs, each company's run on its own",
  "job",
  [0.01, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600],
);

export const jobFailures = counterBy(
  "meterhouse_job_failures_total",
  "Runs of jobs that failed, each company's on its own",
  "job",
  JOBS.map(({ name }) => name),
);

/** When the jobs of every second, whose runs are not stored, last found nothing to do or did all of it. */
const successes = new Map<string, Temporal.Instant>();

export function rememberSuccess(job: string, now: Temporal.Instant): void {
  successes.set(job, now);
}

/**
 * When each job last ended well, in Unix seconds: by what is stored, or since the start. One that has not since then
 * counts from the start: it may not have been due yet.
 */
export function lastSuccesses(
  stored: ReadonlyMap<string, Temporal.Instant>,
  started_at: Temporal.Instant,
): Sample[] {
  return JOBS.map(({ name }) => {
    const at = successes.get(name) ?? stored.get(name) ?? started_at;
    return { labels: { job: name }, value: at.epochMilliseconds / 1_000 };
  });
}

/** The seconds from one run of a job to its next. */
export function intervalOf({ cron }: Pick<Job, "cron">): number {
  const [next, after] = new Cron(cron, { utcOffset: 0, paused: true }).nextRuns(2);
  return next && after ? (after.getTime() - next.getTime()) / 1_000 : Number.NaN;
}

/** The same of all jobs. */
export function jobIntervals(): Sample[] {
  return JOBS.map((job) => ({ labels: { job: job.name }, value: intervalOf(job) }));
}
