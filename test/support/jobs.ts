import { JOBS } from "../../src/server/jobs.ts";
import { runJob } from "../../src/server/scheduler.ts";
import type { Service } from "./harness.ts";

/** Runs a job now, for every company. Returns whether it ran: not while another instance runs it. */
export async function runNamedJob({ deps }: Pick<Service, "deps">, name: string): Promise<boolean> {
  const job = JOBS.find((candidate) => candidate.name === name);
  if (!job) throw new Error(`There is no job ${name}`);
  return runJob(deps, job);
}

/** Runs a job at every instance: each sees to what is on its own disk. */
export async function runAtAll({ instances }: Pick<Service, "instances">, name: string): Promise<void> {
  for (const deps of instances) await runNamedJob({ deps }, name);
}
