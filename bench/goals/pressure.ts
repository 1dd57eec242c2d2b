import { Type } from "@sinclair/typebox";
import { Connection } from "../connection.ts";
import type { Company } from "../company.ts";
import { type Finding, finding, figureOf } from "../finding.ts";
import { keepArriving } from "../load.ts";
import { aggregate, READ_UNDER_AGGREGATES, readBeside, STEADY_INGEST, steadyIngest } from "../pressure.ts";
import { DAY_MS } from "../queries.ts";
import { SEARCH_PATH, UnexpectedStatus } from "../search.ts";
import { type Measured, medianOf } from "../stats.ts";
import { ms, spread } from "../table.ts";
import type { Part, PartContext } from "./part.ts";

/** As many groups as an answer may have. */
const MANY = "10,000 groups";
/** The days of which the large company's 200 subscriptions make so many. */
const MANY_DAYS = 50;

const SEARCHES = 10;
/** GETs of the list of clients while the searches are answered, measured from when they should have gone out. */
const LISTS = { connections: 32, per_s: 500 };
const LIST_GOAL = { p99_ms: 10, longest_ms: 30 };

const EXPORTS = 2;

const Groups = Type.Object({ data: Type.Array(Type.Unknown()) });

/** What queries, exports and the store's own work do to others. */
export const pressure: Part = {
  name: "pressure",
  summary: "short reads beside aggregates, answers of many groups and exports; waits under a steady ingest",
  async run(context) {
    const { large, small, writer } = context.deployment.companies;
    const attempt = (what: string, work: (what: string) => Promise<Finding>) =>
      context.attempt(what, () => work(what));
    const of_large = context.benchContext(large);
    const by_client = () => aggregate(of_large, { group_by: "client" });
    const by_day = () => aggregate(of_large, subscriptionDays(context));
    return [
      await attempt(READ_UNDER_AGGREGATES, (what) => readBeside(of_large, what, by_client)),
      await attempt(`${READ_UNDER_AGGREGATES}, ${MANY} each`, (what) => readBeside(of_large, what, by_day)),
      await attempt(`${READ_UNDER_AGGREGATES}, and ${EXPORTS} exports`, (what) =>
        readBeside(of_large, what, () => Promise.all([by_client(), exportCsv(context, large)])),
      ),
      await attempt(
        `GET /clients every 2 ms beside ${SEARCHES} searches, ${MANY} by subscription and day`,
        (what) => listBeside(context, what, large, subscriptionDays(context)),
      ),
      await attempt(
        `GET /clients every 2 ms beside ${SEARCHES} searches, ${MANY} by a metadata key`,
        (what) => listBeside(context, what, small, { group_by: "metadata:trace" }),
      ),
      await attempt(STEADY_INGEST, () => steadyIngest(context.benchContext(writer))),
    ];
  },
};

/** Groups by subscription and day, over so many whole days that there are 10,000 of the large company's. */
function subscriptionDays(context: PartContext): Record<string, unknown> {
  const end_time = Math.floor(context.deployment.manifest.until_ms / DAY_MS) * DAY_MS;
  return { group_by: ["subscription", "day"], start_time: end_time - MANY_DAYS * DAY_MS, end_time };
}

/** The time that a list of clients takes while a search is sent again and again. */
async function listBeside(
  { plan, events }: PartContext,
  what: string,
  company: Company,
  search: Record<string, unknown>,
): Promise<Finding> {
  const request = company.request("GET", "/clients");
  const body = { aggregate: true, ...search };
  const searching = company.request("POST", SEARCH_PATH, body);
  const groups = (await company.fetchJson(Groups, "POST", SEARCH_PATH, body)).data.length;
  const connection = await Connection.open(company.origin);
  const rounds: Measured[] = [];
  try {
    for (let round = 0; round < plan.rounds; round++) {
      const lists = keepArriving({ ...LISTS, origin: company.origin, request, status: 200 });
      try {
        for (let i = 0; i < SEARCHES; i++) {
          const answer = await connection.send(searching);
          if (answer.status !== 200) throw new UnexpectedStatus(what, answer);
        }
      } finally {
        rounds.push(await lists.stop());
      }
    }
  } finally {
    connection.close();
  }
  const waited = medianOf(rounds);
  const { p99_ms, longest_ms } = LIST_GOAL;
  return finding(what, events, {
    measured: `p99 ${ms(waited.p99_ms)}, longest ${ms(waited.max_ms)} ms, ${groups.toLocaleString("en-US")} groups`,
    latency: spread(waited),
    goal: {
      text: `p99 ≤ ${p99_ms}, longest ≤ ${longest_ms} ms`,
      met: waited.p99_ms <= p99_ms && waited.max_ms <= longest_ms,
    },
    figures: [figureOf(waited, "p99_ms"), figureOf(waited, "max_ms"), figureOf(waited, "p50_ms")],
  });
}

/** Exports all of a company's events all the time, for as long as a round lasts. */
async function exportCsv({ plan }: PartContext, company: Company): Promise<void> {
  const deadline = performance.now() + plan.seconds * 1_000;
  const work = async () => {
    while (performance.now() < deadline) {
      const response = await company.fetch("POST", "/usage/export", { format: "csv" });
      if (!response.ok || response.body === null)
        throw new Error(`Cannot go on: an export was answered with ${response.status}`);
      // Leaving the loop early cancels the export.
      for await (const _ of response.body) if (performance.now() >= deadline) break;
    }
  };
  await Promise.all(Array.from({ length: EXPORTS }, work));
}
