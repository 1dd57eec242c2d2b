import { Type } from "@sinclair/typebox";
import type { Report, RunContext } from "../bench.ts";
import { type Progressed, watchRun } from "../billing/month_close.ts";
import type { Company } from "../company.ts";
import { atMost, type Finding, finding } from "../finding.ts";
import type { Plan } from "../plan.ts";
import { type Watched, watch, watchedFindings } from "../watch.ts";
import { measureChecks, measureIngest } from "./checks.ts";
import { type Months, type OpenMonths, openMonths, SUBSCRIPTIONS } from "./months.ts";
import { METERS } from "./plan.ts";
import { measureStarts } from "./starts.ts";
import { measureSimulations } from "./tries.ts";

/** The goals for a month's close, and the events that they are set for. */
const GOALS = { seconds: 90, p99_ms: 50, at: 10_000_000 };
const VERIFIED = 20;

/** More events than this are those of a year. */
const MONTH_EVENTS = 10_000_000;

const Records = Type.Object({ data: Type.Array(Type.Object({ id: Type.Integer() })) });
const Verified = Type.Object({ data: Type.Object({ matches: Type.Boolean() }) });

/** A part of it, measured alone by its name. */
interface PricingPart {
  name: string;
  summary: string;
  run(plan: Plan, open: OpenMonths, context: RunContext): Promise<Finding[]>;
}

/** In this order: what stores events comes last. */
export const PRICING_PARTS: readonly PricingPart[] = [
  { name: "months", summary: "close of the months, and other prices tried on them", run: measureMonths },
  {
    name: "starts",
    summary: "starts, until all limits are certain",
    run: (_plan, open, context) => measureStarts(open, context),
  },
  { name: "checks", summary: "checks and reservations, while events come in", run: measureChecks },
  { name: "ingest", summary: "ingest with limits and without", run: measureIngest },
];

/**
 * Measures the goals for meters, charges, limits and simulations; `keep` is a folder to store the months in, or with
 * some to use again.
 */
export async function measurePricing(
  plan: Plan,
  { parts, keep }: { parts: readonly PricingPart[]; keep: string | undefined },
  context: RunContext,
): Promise<Report> {
  const { cleanup, progress, save } = context;
  const { events } = plan;
  const months = events > MONTH_EVENTS ? 12 : 1;
  const open = await openMonths(cleanup, { events, months }, { keep, progress });
  const findings: Finding[] = [];
  for (const part of parts) {
    progress(`part: ${part.name}`);
    const found = await part.run(plan, open, context);
    findings.push(...found);
    save(found);
  }
  await open.service.stop();
  progress("done");
  return {
    preface: `${events.toLocaleString("en-US")} events of ${SUBSCRIPTIONS.toLocaleString("en-US")} subscriptions in \
${months === 1 ? "the last month" : `the last ${months} months`}, and as many a day in the running one; a plan of \
${METERS.length} charges, and a limit by month for each subscription. In brackets: the goal is set for another number of events.`,
    findings,
    failed: false,
  };
}

async function measureMonths(_: Plan, open: OpenMonths, { progress }: RunContext): Promise<Finding[]> {
  progress(`closing ${open.months.names.join(", ")}`);
  const closed = closeFindings(open.months, await closeMonths(open));
  progress("checking some bills");
  await verifySome(open.limited);
  return [...closed, ...(await measureSimulations(open, progress))];
}

/** One run of all months. */
function closeMonths({ months: { names }, service, limited }: OpenMonths): Promise<Watched<Progressed>> {
  const month = names.length === 1 ? names[0] : undefined;
  const periods = SUBSCRIPTIONS * names.length;
  return watch(service, limited, "/clients/1", () => watchRun(limited, { month, periods }));
}

function closeFindings({ events, names }: Months, close: Watched<Progressed>): Finding[] {
  const { seconds, cpu_s } = close;
  const is_month = names.length === 1;
  const what = `close of ${is_month ? "a month" : `${names.length} months`} with five charges`;
  return [
    finding(what, events, {
      measured: `${seconds.toFixed(1)} s, ${cpu_s.toFixed(1)} s of processor time`,
      goal: is_month ? atMost(GOALS.seconds, "s", seconds, GOALS.at) : undefined,
      figures: [
        { name: "the run", unit: "s", values: [seconds] },
        { name: "processor time", unit: "s", values: [cpu_s] },
      ],
    }),
    ...watchedFindings(close, events, { what: "GET one client", p99_ms: GOALS.p99_ms, at: GOALS.at }),
  ];
}

/** Errors: throws when a bill is not what its events say. */
async function verifySome(company: Company): Promise<void> {
  const { data } = await company.fetchJson(Records, "GET", `/billing-records?limit=${VERIFIED}`);
  if (data.length === 0) throw new Error("Cannot go on: there are no records");
  for (const { id } of data) {
    const verified = await company.fetchJson(Verified, "GET", `/billing-records/${id}/verify`);
    if (!verified.data.matches)
      throw new Error(`Cannot go on: record ${id} does not hold what its events say`);
  }
}
