import { atLeast, BATCHES, compareIngest, ingestOf, type Sending, SINGLE_GOAL, SINGLES } from "../ingest.ts";
import {
  readGoal,
  READ_UNDER_AGGREGATES,
  readUnderAggregates,
  stallGoal,
  STEADY_INGEST,
  steadyIngest,
} from "../pressure.ts";
import { RawUsage } from "../raw_usage.ts";
import { factor, ms, round } from "../table.ts";
import { type Finding, finding } from "./finding.ts";
import type { Part, PartContext } from "./part.ts";

const MILLION = 1_000_000;
/** The goals for batches, as the store grows. */
const LAST_BATCH_GOAL = { at: 50 * MILLION, ratio: 0.25 };
const BATCH_GOALS = [{ at: 10 * MILLION, ratio: 0.35 }, LAST_BATCH_GOAL];

/** Ingest over HTTP with all events stored, and what it does to others. */
export const ingest: Part = {
  name: "ingest",
  summary: "ingest over HTTP with all events stored, against typed chunks in-process",
  async run(context) {
    const raw = await RawUsage.open(context.cleanup);
    try {
      const goal = BATCH_GOALS.find(({ at }) => context.events <= at) ?? LAST_BATCH_GOAL;
      return [
        await beside(context, raw, BATCHES, goal),
        await beside(context, raw, SINGLES, { ratio: SINGLE_GOAL }),
      ];
    } finally {
      raw.close();
    }
  },
};

/** How long queries slow short ones down, and the store's own work slows ingest. */
export const pressure: Part = {
  name: "pressure",
  summary: "GET one client while aggregates run at full load; the longest wait under a steady ingest",
  async run(context) {
    const { events, plan } = context;
    const { large, writer } = context.deployment.companies;
    const steady = `${STEADY_INGEST}, ${plan.arrival_seconds} s`;
    return [
      await context.attempt(READ_UNDER_AGGREGATES, async () => {
        const read = await readUnderAggregates(context.benchContext(large));
        const measured = `p50 ${ms(read.p50_ms)}, p99 ${ms(read.p99_ms)} ms`;
        return finding(READ_UNDER_AGGREGATES, events, { measured, goal: readGoal(read) });
      }),
      await context.attempt(steady, async () => {
        const waited = await steadyIngest(context.benchContext(writer));
        const { p50_ms, p99_ms, max_ms } = waited;
        const measured = `p50 ${ms(p50_ms)}, p99 ${ms(p99_ms)}, longest ${ms(max_ms)} ms`;
        return finding(steady, events, { measured, goal: stallGoal(waited) });
      }),
    ];
  },
};

function beside(
  context: PartContext,
  raw: RawUsage,
  sending: Sending,
  goal: { ratio: number; at?: number },
): Promise<Finding> {
  const { writer } = context.deployment.companies;
  const what = ingestOf(sending);
  return context.attempt(what, async () => {
    const { subject, peer } = await compareIngest(context.benchContext(writer), raw, sending);
    const ratio = subject.per_s / peer.per_s;
    return finding(what, context.events, {
      measured: `${round(subject.per_s)} events/s`,
      peer: `${round(peer.per_s)} events/s, typed chunks in-process`,
      ratio: `${factor(ratio)} ×`,
      goal: { ...goal, ...atLeast(goal.ratio, ratio) },
    });
  });
}
