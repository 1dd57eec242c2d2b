import { JOBS } from "../../src/server/jobs.ts";
import { runJob } from "../../src/server/scheduler.ts";
import type { Service, TestClock } from "./harness.ts";

/** Advances the service's clock by some seconds, step by step, and runs at each step the jobs that run every second. */
export async function pass(service: Service, clock: TestClock, steps_s: readonly number[]): Promise<void> {
  for (const seconds of steps_s) {
    clock.set(clock.now().add({ seconds }).toString());
    for (const job of JOBS) if (job.due) await runJob(service.deps, job);
  }
}
