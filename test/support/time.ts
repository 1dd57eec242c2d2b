import { JOBS } from "../../src/server/jobs.ts";
import { runJob } from "../../src/server/scheduler.ts";
import type { Service, TestClock } from "./harness.ts";

/** Lets some seconds go by on a house's clock, step by step, with all that runs every second at each of them. */
export async function pass(service: Service, clock: TestClock, steps_s: readonly number[]): Promise<void> {
  for (const seconds of steps_s) {
    clock.set(clock.now().add({ seconds }).toString());
    for (const job of JOBS) if (job.due) await runJob(service.deps, job);
  }
}
