import type { Company } from "../company.ts";
import { atMost, type Finding, type Goal, latencyFinding } from "../finding.ts";
import { takeRounds } from "../plan.ts";
import {
  ALL_DAYS,
  BY_CLIENT,
  BY_PRODUCT,
  BY_SUBSCRIPTION,
  LAST_DAYS,
  lastDays,
  METADATA_GROUPS,
  pageSearch,
  type Query,
  QUERIES,
  type Search,
  totalsSearch,
} from "../queries.ts";
import { lastResults } from "../results.ts";
import { compareSearch, SEARCH_PATH, Searcher, searchGoal } from "../search.ts";
import { measured, median, type Median, timeEach } from "../stats.ts";
import { factor, ms } from "../table.ts";
import type { Part, PartContext } from "./part.ts";

const SCAN_GOAL = 0.05;
const PAGE_MS = 4;
const FIRST_PART_MS = 200;
const GROWTH_GOAL = 2;
/** A key is asked for so long, or until its answer takes so much less. */
const OFTEN_MS = 60_000;
const FASTER = 4;
const ASK_AGAIN_MS = 1_000;

const SMALLER = 10_000_000;
const LARGER = 100_000_000;

/** Fixed limits at 100 M, in place of the ratio to the SQL. */
const LIMITS_MS: ReadonlyMap<Query, number> = new Map([
  [LAST_DAYS, 6],
  [BY_CLIENT, 40],
  [BY_PRODUCT, 40],
  [BY_SUBSCRIPTION, 40],
  [METADATA_GROUPS, 1_000],
]);

/** Searches against SQL on a copy of the store, and as the store grows. */
export const searches: Part = {
  name: "searches",
  summary: "searches against the same SQL on a copy of the store, against a raw scan, and as the store grows",
  async run(context) {
    const { large, middle, small } = context.deployment.companies;
    const findings: Finding[] = [];
    const attempt = async (what: string, work: (what: string) => Promise<Finding>) => {
      findings.push(await context.attempt(what, () => work(what)));
    };
    await askOften(context, METADATA_GROUPS);
    for (const query of [...QUERIES, BY_PRODUCT, BY_SUBSCRIPTION, METADATA_GROUPS])
      await attempt(`${query.what}, large company`, (what) => besideSql(context, what, query));
    await attempt(`${METADATA_GROUPS.what}, large company, first part of the answer`, (what) =>
      firstPart(context, what, METADATA_GROUPS),
    );
    await attempt(`${ALL_DAYS.what}, large company`, (what) => besideScan(context, what));
    for (const [size, company] of Object.entries({ large, middle, small }))
      await attempt(`first page, ${size} company`, (what) => firstPage(context, what, company));
    for (const [size, company] of Object.entries({ middle, small }))
      await attempt(`aggregate by day over 30 days, ${size} company`, (what) =>
        growth(context, what, company),
      );
    return findings;
  },
};

async function besideSql(context: PartContext, what: string, query: Query): Promise<Finding> {
  const { subject, peer } = await compareLarge(context, query);
  const limit_ms = LIMITS_MS.get(query);
  const { p50_ms } = subject;
  const fixed: Goal | undefined = limit_ms === undefined ? undefined : atMost(limit_ms, "ms", p50_ms, LARGER);
  return latencyFinding(what, context.events, {
    subject,
    peer: { name: "the same SQL in-process", median: peer },
    goal: fixed ?? searchGoal(p50_ms, peer.p50_ms),
  });
}

async function besideScan(context: PartContext, what: string): Promise<Finding> {
  const { subject, peer } = await compareLarge(context, ALL_DAYS);
  const ratio = subject.p50_ms / peer.p50_ms;
  return latencyFinding(what, context.events, {
    subject,
    peer: { name: "raw scan in-process", median: peer },
    ratio: `${factor(ratio)} ×`,
    goal: { text: `≤ ${SCAN_GOAL} × at 100 M`, met: ratio <= SCAN_GOAL, at: LARGER },
  });
}

async function compareLarge(context: PartContext, query: Query) {
  const { large } = context.deployment.companies;
  const copy = await context.copy();
  return compareSearch(context.benchContext(large), copy, query, context.rangeOf(large));
}

/** Asks by a key until the service has made what it makes for keys that are asked for often, or long enough. */
async function askOften(context: PartContext, query: Query): Promise<void> {
  const { large } = context.deployment.companies;
  const searcher = await Searcher.open(large, query, context.rangeOf(large));
  try {
    const started = performance.now();
    const ask = async () => (await timeEach({ times: 1, seconds: 1 }, () => searcher.send())).p50_ms;
    const first_ms = await ask();
    while ((await ask()) > first_ms / FASTER && performance.now() < started + OFTEN_MS)
      await Bun.sleep(ASK_AGAIN_MS);
  } finally {
    searcher.close();
  }
}

/** The time until the first bytes of an answer, which may come in pieces. */
async function firstPart(context: PartContext, what: string, query: Query): Promise<Finding> {
  const { plan, deployment, events } = context;
  const { large } = deployment.companies;
  const body = query.body(context.rangeOf(large));
  const subject = await takeRounds(plan, async () => {
    const latencies_ms: number[] = [];
    const started = performance.now();
    while (latencies_ms.length < plan.searches && performance.now() < started + plan.seconds * 1_000) {
      const before = performance.now();
      const response = await large.fetch("POST", SEARCH_PATH, body);
      let parts = 0;
      // Every part is read, so that the next request is sent to a server without work.
      for await (const _ of response.body ?? [])
        if (parts++ === 0) latencies_ms.push(performance.now() - before);
      if (!response.ok || parts === 0) throw new Error(`the service answered ${response.status}`);
    }
    return measured(latencies_ms.length, performance.now() - started, latencies_ms);
  });
  const goal = atMost(FIRST_PART_MS, "ms", subject.p50_ms, LARGER);
  return latencyFinding(what, events, { subject, goal });
}

async function firstPage(context: PartContext, what: string, company: Company): Promise<Finding> {
  const subject = await time(context, company, pageSearch(what, {}));
  const goal = atMost(PAGE_MS, "ms", subject.p50_ms, LARGER);
  return latencyFinding(what, context.events, { subject, goal });
}

/** The same events of the same company, beside the time that they took among fewer of others. */
async function growth(context: PartContext, what: string, company: Company): Promise<Finding> {
  const subject = await time(context, company, totalsSearch(what, lastDays));
  const smaller = context.events > SMALLER ? lastResults("usage", SMALLER) : undefined;
  const before = smaller?.findings.find((one) => one.what === what)?.figures[0];
  const text = `≤ ${GROWTH_GOAL} × from 10 M to 100 M`;
  if (before === undefined)
    return { ...latencyFinding(what, context.events, { subject }), goal: text, holds: "–" };
  const before_ms = median(before.values);
  const ratio = subject.p50_ms / before_ms;
  const found = latencyFinding(what, context.events, {
    subject,
    ratio: `${factor(ratio)} ×`,
    goal: { text, met: ratio <= GROWTH_GOAL, at: LARGER },
  });
  return { ...found, peer: `${ms(before_ms)} ms at 10 M` };
}

/** The median time of a search over HTTP. */
async function time(context: PartContext, company: Company, wanted: Search): Promise<Median> {
  const { plan } = context;
  const searcher = await Searcher.open(company, wanted, context.rangeOf(company));
  try {
    const bounds = { times: plan.searches, seconds: plan.seconds };
    return await takeRounds(plan, () => timeEach(bounds, () => searcher.send()));
  } finally {
    searcher.close();
  }
}
