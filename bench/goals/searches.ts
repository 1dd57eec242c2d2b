import type { Company } from "../company.ts";
import { takeRounds } from "../plan.ts";
import {
  ALL_DAYS,
  lastDays,
  METADATA_GROUPS,
  pageSearch,
  type Query,
  QUERIES,
  type Search,
  totalsSearch,
} from "../queries.ts";
import { compareSearch, Searcher, searchGoal } from "../search.ts";
import { timeEach } from "../stats.ts";
import { factor, latencyRatio, ms } from "../table.ts";
import { type Finding, latencyFinding } from "./finding.ts";
import type { Part, PartContext } from "./part.ts";
import { readResults } from "./results.ts";

const SCAN_GOAL = 0.05;
const PAGE_MS = 5;
const GROWTH_GOAL = 2;

const SMALLER = 10_000_000;
const LARGER = 100_000_000;

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
    for (const query of [...QUERIES, METADATA_GROUPS])
      await attempt(`${query.what}, large company`, (what) => besideSql(context, what, query));
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
  const { large } = context.deployment.companies;
  const copy = await context.copy();
  const { subject, peer } = await compareSearch(
    context.benchContext(large),
    copy,
    query,
    context.rangeOf(large),
  );
  return latencyFinding(what, context.events, {
    p50_ms: subject.p50_ms,
    peer: `${ms(peer.p50_ms)} ms, the same SQL in-process`,
    ratio: latencyRatio(subject.p50_ms, peer.p50_ms),
    goal: searchGoal(subject.p50_ms, peer.p50_ms),
  });
}

async function besideScan(context: PartContext, what: string): Promise<Finding> {
  const { large } = context.deployment.companies;
  const copy = await context.copy();
  const { subject, peer } = await compareSearch(
    context.benchContext(large),
    copy,
    ALL_DAYS,
    context.rangeOf(large),
  );
  const ratio = subject.p50_ms / peer.p50_ms;
  return latencyFinding(what, context.events, {
    p50_ms: subject.p50_ms,
    peer: `${ms(peer.p50_ms)} ms, raw scan in-process`,
    ratio: `${factor(ratio)} ×`,
    goal: { text: `≤ ${SCAN_GOAL} × at 100 M`, met: ratio <= SCAN_GOAL, at: LARGER },
  });
}

async function firstPage(context: PartContext, what: string, company: Company): Promise<Finding> {
  const p50_ms = await time(context, company, pageSearch(what, {}));
  return latencyFinding(what, context.events, {
    p50_ms,
    goal: { text: `≤ ${PAGE_MS} ms at 100 M`, met: p50_ms <= PAGE_MS, at: LARGER },
  });
}

/** The same events of the same company, beside the time that they took among fewer of others. */
async function growth(context: PartContext, what: string, company: Company): Promise<Finding> {
  const p50_ms = await time(context, company, totalsSearch(what, lastDays));
  const smaller = context.events > SMALLER ? readResults(SMALLER) : undefined;
  const before_ms = smaller?.findings.find((one) => one.what === what)?.value_ms;
  const text = `≤ ${GROWTH_GOAL} × from 10 M to 100 M`;
  if (before_ms === undefined || before_ms === null)
    return { ...latencyFinding(what, context.events, { p50_ms }), goal: text, holds: "–" };
  const ratio = p50_ms / before_ms;
  return latencyFinding(what, context.events, {
    p50_ms,
    peer: `${ms(before_ms)} ms at 10 M`,
    ratio: `${factor(ratio)} ×`,
    goal: { text, met: ratio <= GROWTH_GOAL, at: LARGER },
  });
}

/** The median time of a search over HTTP. */
async function time(context: PartContext, company: Company, wanted: Search): Promise<number> {
  const { plan } = context;
  const searcher = await Searcher.open(company, wanted, context.rangeOf(company));
  try {
    const bounds = { times: plan.searches, seconds: plan.seconds };
    const { p50_ms } = await takeRounds(plan, () => timeEach(bounds, () => searcher.send()));
    return p50_ms;
  } finally {
    searcher.close();
  }
}
