import { Type } from "@sinclair/typebox";
import type { Progress } from "../bench.ts";
import { atMost, type Finding, finding } from "../finding.ts";
import type { Company } from "../company.ts";
import { watch, watchedFindings } from "../watch.ts";
import type { OpenMonths } from "./months.ts";
import { planOf } from "./plan.ts";

const LOOK_MS = 100;

/** The goals, and the events that they are set for. */
const GOALS = { month_s: 45, month_at: 10_000_000, all_s: 600, all_at: 100_000_000, p99_ms: 50 };

const Started = Type.Object({ data: Type.Object({ id: Type.Integer() }) });
const Simulation = Type.Object({
  data: Type.Object({
    status: Type.String(),
    reproduces: Type.Union([Type.Boolean(), Type.Null()]),
    counts: Type.Object({ periods: Type.Integer(), failed: Type.Integer() }),
    totals: Type.Object({ billed: Type.String(), simulated: Type.String() }),
  }),
});

/** Tries other prices on the last month, and on all of them where there are several. All must be billed. */
export async function measureSimulations(open: OpenMonths, progress: Progress): Promise<Finding[]> {
  const { names, events } = open.months;
  const last = names.at(-1) ?? "";
  const month = await simulate(open, [last, last], progress);
  const findings = [line("simulation of the last month", events, month, GOALS.month_s, GOALS.month_at)];
  const all = names.length === 1 ? month : await simulate(open, [names[0] ?? "", last], progress);
  if (all !== month)
    findings.push(line(`simulation of ${names.length} months`, events, all, GOALS.all_s, GOALS.all_at));
  return [
    ...findings,
    ...watchedFindings(all, events, {
      what: "GET one client",
      p99_ms: GOALS.p99_ms,
      at: names.length === 1 ? GOALS.month_at : GOALS.all_at,
    }),
  ];
}

function line(
  what: string,
  events: number,
  { seconds, cpu_s }: { seconds: number; cpu_s: number },
  most: number,
  at: number,
): Finding {
  return finding(what, events, {
    measured: `${seconds.toFixed(1)} s, ${cpu_s.toFixed(1)} s of processor time`,
    goal: atMost(most, "s", seconds, at),
    figures: [
      { name: "the simulation", unit: "s", values: [seconds] },
      { name: "processor time", unit: "s", values: [cpu_s] },
    ],
  });
}

async function simulate(
  { months: { meter_ids }, service, limited }: OpenMonths,
  [from, to]: [string, string],
  progress: Progress,
) {
  progress(`trying other prices on ${from} to ${to}`);
  const asked = { billing_model: planOf(meter_ids, 90), from, to };
  return watch(service, limited, "/clients/1", () => finish(limited, asked));
}

/** Errors: throws when it fails, or the plan in force does not come to what was billed. */
async function finish(company: Company, asked: Record<string, unknown>): Promise<void> {
  const { data: started } = await company.fetchJson(Started, "POST", "/simulations", asked);
  while (true) {
    const { data } = await company.fetchJson(Simulation, "GET", `/simulations/${started.id}`);
    if (data.status === "running") {
      await Bun.sleep(LOOK_MS);
      continue;
    }
    if (data.status === "finished" && data.reproduces === true && data.counts.failed === 0) return;
    throw new Error(`Cannot go on: the simulation came to ${JSON.stringify(data)}`);
  }
}
