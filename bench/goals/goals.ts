import type { Report, RunContext } from "../bench.ts";
import { type Finding, notMeasured } from "../finding.ts";
import type { Plan } from "../plan.ts";
import { openDeployment } from "./deployment.ts";
import { exports } from "./exports.ts";
import { imports } from "./imports.ts";
import { inStore } from "./in_store.ts";
import { ingest } from "./ingest.ts";
import { type Part, PartContext } from "./part.ts";
import { peers } from "./peers.ts";
import { pressure } from "./pressure.ts";
import { searches } from "./searches.ts";
import { series } from "./series.ts";
import { start } from "./start.ts";

/** In this order: those that store events come last. */
export const PARTS: readonly Part[] = [
  searches,
  series,
  inStore,
  peers,
  exports,
  ingest,
  pressure,
  start,
  imports,
];

/** What the tests own, so that the table names every goal. */
const KILLED: Finding = notMeasured(
  "kill -9: nothing lost, nothing doubled",
  "it is a test: `bun test test/usage_store/duckdb/kill.test.ts test/usage/ingest/kill.test.ts`",
);

/**
 * Measures the goals for usage; `keep` is a folder to store the deployment in, or with one to use again. A part that
 * fails is reported and the others go on.
 */
export async function measureGoals(
  plan: Plan,
  { parts, keep }: { parts: readonly Part[]; keep: string | undefined },
  { cleanup, progress, save }: RunContext,
): Promise<Report> {
  const deployment = await openDeployment(cleanup, plan.events, { keep, progress });
  const context = new PartContext(plan, deployment, cleanup, progress);
  const findings: Finding[] = [];
  for (const part of parts) {
    progress(`part: ${part.name}`);
    try {
      await deployment.service.start();
      const found = await part.run(context);
      findings.push(...found);
      save(found);
    } catch (error) {
      context.failed = true;
      findings.push(notMeasured(part.summary, error instanceof Error ? error.message : String(error)));
    }
  }
  context.closeCopy();
  await deployment.service.stop();
  progress("done");
  const companies = deployment.manifest.companies.length;
  const rounds = plan.rounds === 1 ? "one round" : `medians of ${plan.rounds} rounds`;
  return {
    preface: `${plan.events.toLocaleString("en-US")} events of ${companies} companies; ${rounds}, all sides in turns \
on the same machine, the load included. In brackets: the goal is set for another number of events.`,
    findings: parts === PARTS ? [...findings, KILLED] : findings,
    failed: context.failed,
  };
}
