import type { Cleanup } from "../cleanup.ts";
import type { Plan } from "../plan.ts";
import type { Progress } from "../bench.ts";
import { machine } from "../table.ts";
import { openDeployment } from "./deployment.ts";
import { exports } from "./exports.ts";
import { type Finding, notMeasured, printFindings } from "./finding.ts";
import { imports } from "./imports.ts";
import { ingest, pressure } from "./ingest.ts";
import { type Part, PartContext } from "./part.ts";
import { peers } from "./peers.ts";
import { writeResults } from "./results.ts";
import { searches } from "./searches.ts";
import { start } from "./start.ts";

/** In this order: those that store events come last. */
export const PARTS: readonly Part[] = [searches, peers, exports, ingest, pressure, start, imports];

/** What the tests own, so that the table names every goal. */
const KILLED: Finding = notMeasured(
  "kill -9: nothing lost, nothing doubled",
  "it is a test: `bun test test/usage_store/duckdb/kill.test.ts test/usage/ingest/kill.test.ts`",
);

export interface GoalOptions {
  parts: readonly Part[];
  /** A folder to store the deployment in, or with one to use again. */
  keep: string | undefined;
  /** Whether later runs may be compared with this one. */
  write: boolean;
}

/**
 * Measures the goals for usage and prints them. A part that fails is reported and the others go on.
 * Gives whether all parts were measured.
 */
export async function measureGoals(
  plan: Plan,
  { parts, keep, write }: GoalOptions,
  { cleanup, progress }: { cleanup: Cleanup; progress: Progress },
): Promise<boolean> {
  const deployment = await openDeployment(cleanup, plan.events, { keep, progress });
  const context = new PartContext(plan, deployment, cleanup, progress);
  const findings: Finding[] = [];
  for (const part of parts) {
    progress(`part: ${part.name}`);
    try {
      await deployment.service.start();
      const found = await part.run(context);
      findings.push(...found);
      // At once, so that a long run that is stopped loses no finding.
      if (write) progress(`stored in ${writeResults(plan.events, found)}`);
    } catch (error) {
      context.failed = true;
      findings.push(notMeasured(part.summary, error instanceof Error ? error.message : String(error)));
    }
  }
  context.closeCopy();
  await deployment.service.stop();
  progress("done");
  console.log(`${machine()}
${plan.events.toLocaleString("en-US")} events of ${deployment.manifest.companies.length} companies; \
${plan.rounds === 1 ? "one round" : `medians of ${plan.rounds} rounds`}, all sides in turns on the same machine, the \
load included. In brackets: the goal is set for another number of events.

${printFindings(parts === PARTS ? [...findings, KILLED] : findings)}`);
  return !context.failed;
}
