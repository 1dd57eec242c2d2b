import type { Company } from "../company.ts";
import { Connection } from "../connection.ts";
import { atMost, type Finding, latencyFinding } from "../finding.ts";
import { takeRounds } from "../plan.ts";
import { RARE_PAIR } from "../events.ts";
import { measured, type Median, timeEach } from "../stats.ts";
import type { Part, PartContext } from "./part.ts";

export const SERIES_PATH = "/usage/series";
const GOAL_EVENTS = 10_000_000;
const SUMS_MS = 50;
const SCAN_MS = 300;
const FIRST_FRAME_MS = 200;

interface Question {
  what: string;
  body: Record<string, unknown>;
  /** The most that its slowest answers may take. */
  most_ms: number;
}

const BY_DAY = { interval: "day", compare: { to: "before" } };
const filterOf = (key: string, value: string) => ({ field: `metadata:${key}`, op: "is", values: [value] });

/** Charts of 90 days of a large company; those that sums do not answer read all of its events. */
export const QUESTIONS: readonly Question[] = [
  { what: "by day, beside 90 days before", body: BY_DAY, most_ms: SUMS_MS },
  ...["client", "product", "subscription"].map((group_by) => ({
    what: `by day and ${group_by}, beside 90 days before`,
    body: { ...BY_DAY, group_by },
    most_ms: SUMS_MS,
  })),
  {
    what: "active subscriptions by day",
    body: { measure: "active_subscriptions", interval: "day" },
    most_ms: SUMS_MS,
  },
  {
    what: "by day, of a metadata filter (two pairs)",
    body: { interval: "day", filters: Object.entries(RARE_PAIR).map(([key, value]) => filterOf(key, value)) },
    most_ms: SCAN_MS,
  },
  {
    what: "by day and two metadata keys",
    body: { interval: "day", group_by: ["metadata:region", "metadata:status"] },
    most_ms: SCAN_MS,
  },
  { what: "by quarter of an hour, a week", body: { interval: "fifteen_minutes", days: 7 }, most_ms: SCAN_MS },
];

/** Questions for usage over time, over HTTP. */
export const series: Part = {
  name: "series",
  summary: "POST /usage/series of a large company: charts that sums by hour answer, and that read events",
  async run(context) {
    const { large } = context.deployment.companies;
    const findings: Finding[] = [];
    for (const { what, body, most_ms } of QUESTIONS) {
      const line = `usage ${what}`;
      findings.push(
        await context.attempt(line, async () => {
          const subject = await time(context, large, bodyOf(context, body));
          const goal = atMost(most_ms, "ms, p99", subject.p99_ms, GOAL_EVENTS);
          return latencyFinding(line, context.events, { subject, goal });
        }),
      );
    }
    const body = bodyOf(context, { interval: "day", group_by: ["metadata:region", "metadata:status"] });
    findings.push(
      await context.attempt("first frame of usage by day and two metadata keys", async () => {
        const subject = await firstFrame(context, large, body);
        const goal = atMost(FIRST_FRAME_MS, "ms", subject.p50_ms, GOAL_EVENTS);
        return latencyFinding("first frame of usage by day and two metadata keys", context.events, {
          subject,
          goal,
        });
      }),
    );
    return findings;
  },
};

/** The question with its range: the last days of the deployment's events. */
export function bodyOf(
  context: PartContext,
  { days = 90, ...body }: Record<string, unknown>,
): Record<string, unknown> {
  const end = Temporal.Instant.fromEpochMilliseconds(context.deployment.manifest.until_ms);
  const to = end.toZonedDateTimeISO("UTC").startOfDay();
  return {
    ...body,
    range: {
      from: to
        .subtract({ days: Number(days) })
        .toInstant()
        .toString(),
      to: to.toInstant().toString(),
    },
  };
}

async function time({ plan }: PartContext, company: Company, body: Record<string, unknown>): Promise<Median> {
  const connection = await Connection.open(company.origin);
  const request = company.request("POST", SERIES_PATH, body);
  const ask = async (): Promise<void> => {
    const { status, body: answer } = await connection.send(request);
    if (status !== 200)
      throw new Error(`the service answered ${status}: ${new TextDecoder().decode(answer.slice(0, 300))}`);
  };
  try {
    return await takeRounds(plan, () => timeEach({ times: plan.searches, seconds: plan.seconds }, ask));
  } finally {
    connection.close();
  }
}

/** The time until the first line of a streamed answer. */
async function firstFrame(
  { plan }: PartContext,
  company: Company,
  body: Record<string, unknown>,
): Promise<Median> {
  return takeRounds(plan, async () => {
    const latencies_ms: number[] = [];
    const started = performance.now();
    while (latencies_ms.length < plan.searches && performance.now() < started + plan.seconds * 1_000) {
      const before = performance.now();
      const response = await company.fetch("POST", SERIES_PATH, body, { accept: "application/x-ndjson" });
      let parts = 0;
      // Every part is read, so that the next request is sent to a server without work.
      for await (const _ of response.body ?? [])
        if (parts++ === 0) latencies_ms.push(performance.now() - before);
      if (!response.ok || parts === 0) throw new Error(`the service answered ${response.status}`);
    }
    return measured(latencies_ms.length, performance.now() - started, latencies_ms);
  });
}
