import type { Progress } from "../bench.ts";
import { atMost, type Finding, finding } from "../finding.ts";
import type { Plan } from "../plan.ts";
import { median } from "../stats.ts";
import { ms } from "../table.ts";
import type { AskedCompany } from "./company.ts";

/** Reads every event, whatever sums there are. */
const QUESTION = {
  range: { relative: "all" },
  interval: "month",
  group_by: ["metadata:trace", "metadata:path"],
};
/** A question is given up after so long, and what it still costs is counted for so long. */
const GIVEN_UP_MS = 100;
const WATCHED_MS = 1_500;
const TIMES = 5;
/** What the process does meanwhile for itself, and what it takes to end a question. */
const MOST_MS = 250;

/** How much processor time the service takes after a question that reads all events was given up. */
export async function abortedFinding(
  plan: Plan,
  { service, admin }: AskedCompany,
  progress: Progress,
): Promise<Finding> {
  progress("giving questions up");
  const cpuMs = async () => ((await service.metric("process_cpu_seconds_total")) ?? Number.NaN) * 1_000;
  const after_ms: number[] = [];
  for (let i = 0; i < TIMES; i++) {
    const aborting = new AbortController();
    const asked = admin.fetch("POST", "/usage/series", QUESTION, {}, aborting.signal).then(
      () => false,
      () => true,
    );
    await Bun.sleep(GIVEN_UP_MS);
    aborting.abort();
    if (!(await asked)) throw new Error("Cannot go on: the question was answered before it was given up");
    const before_ms = await cpuMs();
    await Bun.sleep(WATCHED_MS);
    after_ms.push((await cpuMs()) - before_ms);
  }
  const middle = median(after_ms);
  return finding("processor time after a question over all events was given up", plan.events, {
    measured: `${ms(middle)} ms`,
    goal: atMost(MOST_MS, "ms", middle),
    figures: [{ name: "processor time", unit: "ms", values: after_ms }],
  });
}
