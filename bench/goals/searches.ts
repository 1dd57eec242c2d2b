import type { Company } from "../company.ts";
import { takeRounds } from "../plan.ts";
import {
  ALL_DAYS,
  lastDays,
  METADATA_GROUPS,
  pageSearch,
  type Question,
  QUESTIONS,
  type Search,
  totalsSearch,
} from "../questions.ts";
import { compareSearch, Searcher, searchGoal } from "../search.ts";
import { timeEach } from "../stats.ts";
import { factor, latencyRatio, ms } from "../table.ts";
import { type Finding, latencyFinding } from "./finding.ts";
import type { Part, Scene } from "./part.ts";
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
  async run(scene) {
    const { large, middle, small } = scene.deployment.companies;
    const findings: Finding[] = [];
    const attempt = async (what: string, work: (what: string) => Promise<Finding>) => {
      findings.push(await scene.attempt(what, () => work(what)));
    };
    for (const question of [...QUESTIONS, METADATA_GROUPS])
      await attempt(`${question.what}, large company`, (what) => besideSql(scene, what, question));
    await attempt(`${ALL_DAYS.what}, large company`, (what) => besideScan(scene, what));
    for (const [size, company] of Object.entries({ large, middle, small }))
      await attempt(`first page, ${size} company`, (what) => firstPage(scene, what, company));
    for (const [size, company] of Object.entries({ middle, small }))
      await attempt(`aggregate by day over 30 days, ${size} company`, (what) => growth(scene, what, company));
    return findings;
  },
};

async function besideSql(scene: Scene, what: string, question: Question): Promise<Finding> {
  const { large } = scene.deployment.companies;
  const copy = await scene.copy();
  const { subject, peer } = await compareSearch(scene.stage(large), copy, question, scene.asked(large));
  return latencyFinding(what, scene.events, {
    p50_ms: subject.p50_ms,
    peer: `${ms(peer.p50_ms)} ms, the same SQL in-process`,
    ratio: latencyRatio(subject.p50_ms, peer.p50_ms),
    goal: searchGoal(subject.p50_ms, peer.p50_ms),
  });
}

async function besideScan(scene: Scene, what: string): Promise<Finding> {
  const { large } = scene.deployment.companies;
  const copy = await scene.copy();
  const { subject, peer } = await compareSearch(scene.stage(large), copy, ALL_DAYS, scene.asked(large));
  const ratio = subject.p50_ms / peer.p50_ms;
  return latencyFinding(what, scene.events, {
    p50_ms: subject.p50_ms,
    peer: `${ms(peer.p50_ms)} ms, raw scan in-process`,
    ratio: `${factor(ratio)} ×`,
    goal: { text: `≤ ${SCAN_GOAL} × at 100 M`, met: ratio <= SCAN_GOAL, at: LARGER },
  });
}

async function firstPage(scene: Scene, what: string, company: Company): Promise<Finding> {
  const p50_ms = await time(scene, company, pageSearch(what, {}));
  return latencyFinding(what, scene.events, {
    p50_ms,
    goal: { text: `≤ ${PAGE_MS} ms at 100 M`, met: p50_ms <= PAGE_MS, at: LARGER },
  });
}

/** The same events of the same company, beside the time that they took among fewer of others. */
async function growth(scene: Scene, what: string, company: Company): Promise<Finding> {
  const p50_ms = await time(scene, company, totalsSearch(what, lastDays));
  const smaller = scene.events > SMALLER ? readResults(SMALLER) : undefined;
  const before_ms = smaller?.findings.find((one) => one.what === what)?.value_ms;
  const text = `≤ ${GROWTH_GOAL} × from 10 M to 100 M`;
  if (before_ms === undefined || before_ms === null)
    return { ...latencyFinding(what, scene.events, { p50_ms }), goal: text, holds: "–" };
  const ratio = p50_ms / before_ms;
  return latencyFinding(what, scene.events, {
    p50_ms,
    peer: `${ms(before_ms)} ms at 10 M`,
    ratio: `${factor(ratio)} ×`,
    goal: { text, met: ratio <= GROWTH_GOAL, at: LARGER },
  });
}

/** The median time of a search over HTTP. */
async function time(scene: Scene, company: Company, wanted: Search): Promise<number> {
  const { plan } = scene;
  const searcher = await Searcher.open(company, wanted, scene.asked(company));
  try {
    const bounds = { times: plan.searches, seconds: plan.seconds };
    const { p50_ms } = await takeRounds(plan, () => timeEach(bounds, () => searcher.send()));
    return p50_ms;
  } finally {
    searcher.close();
  }
}
