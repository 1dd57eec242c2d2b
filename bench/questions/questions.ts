import { Type } from "@sinclair/typebox";
import type { Progress, Report, RunContext } from "../bench.ts";
import type { Company } from "../company.ts";
import { Connection } from "../connection.ts";
import { atMost, type Finding, figureOf, finding, notMeasured } from "../finding.ts";
import { type Plan, takeRounds } from "../plan.ts";
import { type Median, timeEach } from "../stats.ts";
import { ms, spread } from "../table.ts";
import { abortedFinding } from "./aborted.ts";
import { type AskedCompany, openAskedCompany, SUBSCRIPTIONS } from "./company.ts";
import { readRecords } from "./plain_records.ts";
import { PlainUsage } from "./plain_usage.ts";
import { timePages } from "./pages.ts";
import type { Question } from "./question.ts";
import { recordQuestions } from "./record_questions.ts";
import { usageQuestions } from "./usage_questions.ts";

const GOAL_EVENTS = 10_000_000;
const MOST_MS = 50;
const MOST_SCAN_MS = 300;
/** A question that sums may answer is asked so often first: the third time those by hour are made, or the sixth those by day. */
const FIRST_ASKED = 7;
const RUNNING_LIMIT_MS = 120_000;

const RunningBills = Type.Object({ data: Type.Object({ pending: Type.Integer() }) });

/** What of the answers is measured. */
export const QUESTION_PARTS = [
  { name: "right", summary: "every answer held to a loop over all events, and to all bills" },
  { name: "time", summary: "how long every answer takes" },
  { name: "pages", summary: "how long the console's pages take in Chromium, and how many bytes they load" },
  { name: "aborted", summary: "what the engine still does for a question that nobody waits for" },
] as const;

/** Asks a company of a year every question that people and agents ask; `keep` is a folder to store it in, or with one. */
export async function measureQuestions(
  plan: Plan,
  { parts, keep }: { parts: readonly { name: string }[]; keep: string | undefined },
  { cleanup, progress, save }: RunContext,
): Promise<Report> {
  const asked = await openAskedCompany(cleanup, plan.events, { keep, progress });
  const questions = [...usageQuestions(asked.manifest), ...recordQuestions(asked.manifest)];
  const has = (part: (typeof QUESTION_PARTS)[number]["name"]) => parts.some(({ name }) => name === part);
  await warm(asked, questions, progress);
  const findings: Finding[] = [];
  let failed = false;
  const add = (found: readonly Finding[]) => {
    findings.push(...found);
    save(found);
  };
  if (has("right")) {
    const wrong = await checkAll(asked, questions, progress);
    failed = wrong.length > 0;
    const measured = failed ? `wrong: ${wrong.join("; ")}` : `all ${questions.length} are right`;
    add([finding("answers held to plain code", plan.events, { measured })]);
  }
  if (has("time"))
    for (const question of questions) add([await timeQuestion(plan, asked, question, progress)]);
  if (has("pages")) add(await timePages(plan, asked, progress));
  if (has("aborted")) add([await abortedFinding(plan, asked, progress)]);
  await asked.service.stop();
  progress("done");
  return {
    preface: `${plan.events.toLocaleString("en-US")} events and a year of bills of ${SUBSCRIPTIONS.toLocaleString("en-US")} \
subscriptions; medians of ${plan.rounds} rounds, one question after the other over HTTP, the load included. In brackets: \
the goal is set for another number of events.`,
    findings,
    failed,
  };
}

/** Asks what sums may answer until they are there, and waits until running bills are rated. */
async function warm(asked: AskedCompany, questions: readonly Question[], progress: Progress): Promise<void> {
  progress("asking every question a few times");
  for (let i = 0; i < FIRST_ASKED; i++) for (const question of questions) await answerTo(asked, question);
  await asked.service.rest();
  const limit = performance.now() + RUNNING_LIMIT_MS;
  while ((await asked.admin.fetchJson(RunningBills, "GET", "/running-bills")).data.pending > 0) {
    if (performance.now() > limit) throw new Error("Cannot go on: running bills are not rated");
    await Bun.sleep(1_000);
  }
}

const askerOf = (asked: AskedCompany, { by }: Question): Company => asked[by];

/** Errors: throws for an answer that is not 200. */
async function answerTo(asked: AskedCompany, question: Question): Promise<unknown> {
  const { method, path, body, what } = question;
  const response = await askerOf(asked, question).fetch(method, path, body);
  const answer: unknown = await response.json();
  if (response.status !== 200)
    throw new Error(`Cannot ask ${what}: ${response.status} ${JSON.stringify(answer)}`);
  return answer;
}

async function checkAll(
  asked: AskedCompany,
  questions: readonly Question[],
  progress: Progress,
): Promise<string[]> {
  progress("making the events again, for plain code");
  const usage = new PlainUsage(asked.manifest);
  progress("reading all records");
  const plain = { usage, records: await readRecords(asked.admin) };
  const wrong: string[] = [];
  for (const question of questions) {
    progress(`checking ${question.what}`);
    try {
      question.check(await answerTo(asked, question), plain);
    } catch (error) {
      wrong.push(`${question.what}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return wrong;
}

async function timeQuestion(
  plan: Plan,
  asked: AskedCompany,
  question: Question,
  progress: Progress,
): Promise<Finding> {
  const { what, scans } = question;
  progress(what);
  try {
    const subject = await time(plan, asked, question);
    const most_ms = scans ? MOST_SCAN_MS : MOST_MS;
    return finding(what, plan.events, {
      measured: `p95 ${ms(subject.p95_ms)} ms`,
      latency: spread(subject),
      goal: atMost(most_ms, "ms, p95", subject.p95_ms, GOAL_EVENTS),
      figures: [figureOf(subject, "p95_ms"), figureOf(subject, "p50_ms")],
    });
  } catch (error) {
    return notMeasured(what, error instanceof Error ? error.message : String(error));
  }
}

async function time(plan: Plan, asked: AskedCompany, question: Question): Promise<Median> {
  const { method, path, body, what } = question;
  const company = askerOf(asked, question);
  const connection = await Connection.open(company.origin);
  const request = company.request(method, path, body);
  try {
    return await takeRounds(plan, () =>
      timeEach({ times: plan.searches, seconds: plan.seconds }, async () => {
        const answer = await connection.send(request);
        if (answer.status !== 200) throw new Error(`${what} was answered with ${answer.status}`);
      }),
    );
  } finally {
    connection.close();
  }
}
