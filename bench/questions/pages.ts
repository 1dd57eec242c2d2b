import type { Browser, BrowserContext, Page } from "playwright-core";
import type { Progress } from "../bench.ts";
import { launchChromium, signInTo } from "../chromium.ts";
import { atMost, type Finding, figureOf, finding, notMeasured } from "../finding.ts";
import { type Plan, takeRounds } from "../plan.ts";
import { PASSWORD } from "../service.ts";
import { measured, type Measured } from "../stats.ts";
import { ms, spread } from "../table.ts";
import type { AskedCompany } from "./company.ts";

const GOAL_EVENTS = 10_000_000;
const FIRST_PAINT_MS = 300;
const USABLE_MS = 700;
const FIRST_LOAD_KB = 60;
const KB = 1_000;
/** How often a round opens a page: each opening is a navigation of its own. */
const OPENINGS = 5;

interface Opening {
  what: string;
  path: string;
  /** What is there once the page can be read. */
  until: string;
  most_ms?: number;
}

const CHART = "main figure.chart .drawing";
const USAGE = "/console/usage?range=last_90d";

const OVERVIEW: Opening = {
  what: "the overview",
  path: "/console/overview",
  until: CHART,
  most_ms: USABLE_MS,
};
const OPENED: readonly Opening[] = [
  OVERVIEW,
  { what: "the list of clients, with their figures", path: "/console/clients", until: "main table tbody tr" },
  { what: "the explorer, 90 days by day", path: USAGE, until: CHART, most_ms: USABLE_MS },
  { what: "the explorer, 90 days by day and client", path: `${USAGE}&by=client`, until: CHART },
  {
    what: "the explorer, 90 days by day and metadata key",
    path: `${USAGE}&by=metadata:region`,
    until: CHART,
  },
];

/**
 * How long the console's pages take in Chromium, as somebody who is signed in. `cold`: a browser without its files.
 */
export async function timePages(plan: Plan, asked: AskedCompany, progress: Progress): Promise<Finding[]> {
  let browser: Browser;
  try {
    browser = await launchChromium();
  } catch (error) {
    return [notMeasured("pages of the console", error instanceof Error ? error.message : String(error))];
  }
  try {
    const warm = await newContext(browser, asked);
    const findings = [await timeFirstPaint(plan, asked, browser, progress)];
    for (const opening of OPENED) findings.push(await timeOpening(plan, asked, { opening, warm, progress }));
    return [...findings, await countBytes(plan, asked, browser)];
  } finally {
    await browser.close();
  }
}

async function newContext(browser: Browser, { service, admin }: AskedCompany): Promise<BrowserContext> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    reducedMotion: "reduce",
    locale: "en-GB",
  });
  await signInTo(context, service.origin, { email: admin.email, password: PASSWORD });
  return context;
}

/** The first paint in browsers that have none of the console's files yet. */
async function timeFirstPaint(
  plan: Plan,
  asked: AskedCompany,
  browser: Browser,
  progress: Progress,
): Promise<Finding> {
  const what = "first paint of the console, nothing cached";
  progress(what);
  const subject = await takeRounds(plan, () =>
    timeOpenings(async () => {
      const context = await newContext(browser, asked);
      try {
        return await open(context, asked, OVERVIEW, readFirstPaint);
      } finally {
        await context.close();
      }
    }),
  );
  return finding(what, plan.events, {
    measured: `p50 ${ms(subject.p50_ms)} ms`,
    latency: spread(subject),
    goal: atMost(FIRST_PAINT_MS, "ms, p50", subject.p50_ms),
    figures: [figureOf(subject, "p50_ms")],
  });
}

/** From the navigation until the page can be read, in a browser that has its files. */
async function timeOpening(
  plan: Plan,
  asked: AskedCompany,
  { opening, warm, progress }: { opening: Opening; warm: BrowserContext; progress: Progress },
): Promise<Finding> {
  const what = `${opening.what}: drawn`;
  progress(what);
  const subject = await takeRounds(plan, () => timeOpenings(() => open(warm, asked, opening, readSeen)));
  return finding(what, plan.events, {
    measured: `p50 ${ms(subject.p50_ms)} ms`,
    latency: spread(subject),
    goal:
      opening.most_ms === undefined
        ? undefined
        : atMost(opening.most_ms, "ms, p50", subject.p50_ms, GOAL_EVENTS),
    figures: [figureOf(subject, "p50_ms")],
  });
}

/** What a browser loads of the console for its first page, as it came. */
async function countBytes(plan: Plan, asked: AskedCompany, browser: Browser): Promise<Finding> {
  const context = await newContext(browser, asked);
  const bytes = await open(context, asked, OVERVIEW, (page) =>
    page.evaluate(
      `performance.getEntriesByType("resource").filter(({ name }) => name.includes("/console/assets/"))
        .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`,
    ),
  );
  const kb = bytes / KB;
  return finding("scripts and styles of the overview, nothing cached", plan.events, {
    measured: `${kb.toFixed(1)} KB`,
    goal: atMost(FIRST_LOAD_KB, "KB", kb),
    figures: [{ name: "bytes", unit: "KB", values: [kb] }],
  });
}

async function timeOpenings(work: () => Promise<number>): Promise<Measured> {
  const latencies_ms: number[] = [];
  const started = performance.now();
  while (latencies_ms.length < OPENINGS) latencies_ms.push(await work());
  return measured(latencies_ms.length, performance.now() - started, latencies_ms);
}

type Read = (page: Page) => Promise<number>;

/** By the page's own clock, whose zero is the navigation. */
const readFirstPaint: Read = (page) =>
  page.evaluate(`performance.getEntriesByName("first-contentful-paint")[0].startTime`);
const readSeen: Read = (page) => page.evaluate("seen_ms");

const IS_SEEN =
  "globalThis.seen_ms !== undefined && performance.getEntriesByName('first-contentful-paint').length > 0";
const LOOK_MS = 10;
const LIMIT_MS = 60_000;

/** Opens a page, waits until it has what it is opened for, and reads a time of it. */
async function open(
  context: BrowserContext,
  { service }: AskedCompany,
  { path, until }: Pick<Opening, "path" | "until">,
  read: Read,
): Promise<number> {
  const page = await context.newPage();
  try {
    // In each frame: what is there is drawn with it.
    await page.addInitScript(`{
      const look = () => {
        if (document.querySelector(${JSON.stringify(until)})) globalThis.seen_ms = performance.now();
        else requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    }`);
    await page.goto(`${service.origin}${path}`);
    // Looked at from outside: the page's policy lets no text be run in it.
    const limit = performance.now() + LIMIT_MS;
    while (!(await page.evaluate<boolean>(IS_SEEN))) {
      if (performance.now() > limit) throw new Error(`Cannot go on: ${path} is never drawn`);
      await page.waitForTimeout(LOOK_MS);
    }
    return await read(page);
  } finally {
    await page.close();
  }
}
