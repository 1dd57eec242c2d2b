import { type DuckDBConnection, DuckDBInstance, type Json } from "@duckdb/node-api";
import { Connection } from "./connection.ts";
import { takeTurns } from "./plan.ts";
import { type Asked, type Question, QUESTIONS } from "./questions.ts";
import { ENGINE } from "./raw_usage.ts";
import type { Bench, Stage } from "./stage.ts";
import { medianOf, timeEach } from "./stats.ts";
import { figureRow, type Goal, latencyRow, ms, type Row } from "./table.ts";

export const SEARCH_PATH = "/usage/search";
const GOAL = { factor: 1.3, more_ms: 3 };

/** Five searches, one after the other on one connection, each against its SQL on a copy of the same file. */
export const search: Bench = {
  name: "search",
  summary: "POST /usage/search, five questions against the same SQL in-process on a copy of the file",
  needs_events: true,
  async run(stage) {
    stage.progress("search: copying the usage store");
    const instance = await DuckDBInstance.create(await stage.house.copyUsage(), ENGINE);
    const copy = await instance.connect();
    const [counted] = await read(copy, ["SELECT count(*) FROM usage_events"]);
    const events = Number(counted?.[0]?.[0]).toLocaleString("en-US");
    const start = figureRow(
      `start with ${events} events, up to a first sign-in`,
      `${ms(stage.house.started_ms)} ms`,
    );
    const rows = [start];
    for (const question of QUESTIONS) {
      stage.progress(`search: ${question.what}`);
      rows.push(await compare(stage, copy, question, `${question.what}, ${events} events`));
    }
    copy.closeSync();
    instance.closeSync();
    return rows;
  },
};

async function compare(
  { plan, house }: Stage,
  copy: DuckDBConnection,
  question: Question,
  what: string,
): Promise<Row> {
  const asked: Asked = {
    now_ms: Temporal.Now.instant().epochMilliseconds,
    subscriptions: house.subscriptions,
  };
  const request = house.request("POST", SEARCH_PATH, question.body(asked));
  const sql = question.sql(asked);
  const connection = await Connection.open(house.origin);
  const ask = () => connection.send(request);
  // The first round is not measured: it fills the caches of both sides and shows that both say the same.
  const { body } = await ask();
  const [said, peer_said] = [
    question.fromAnswer(JSON.parse(new TextDecoder().decode(body))),
    question.fromRows(await read(copy, sql)),
  ];
  if (!Bun.deepEquals(said, peer_said))
    throw new Error(`Cannot compare ${question.what}: ${said.join(" ")} is not ${peer_said.join(" ")}`);

  const bounds = { times: plan.searches, seconds: plan.seconds };
  const turns = await takeTurns(plan, {
    peer: () => timeEach(bounds, () => read(copy, sql)),
    subject: () => timeEach(bounds, ask),
  });
  connection.close();
  const [subject, { p50_ms }] = [medianOf(turns.subject), medianOf(turns.peer)];
  const peer = { name: "the same SQL in-process", p50_ms };
  return latencyRow(what, { subject, peer, goal: searchGoal(subject.p50_ms, p50_ms) });
}

/** The rows of each statement. */
async function read(connection: DuckDBConnection, statements: readonly string[]): Promise<Json[][][]> {
  const results: Json[][][] = [];
  for (const statement of statements) results.push(await (await connection.run(statement)).getRowsJson());
  return results;
}

function searchGoal(subject_ms: number, peer_ms: number): Goal {
  const met = subject_ms <= Math.max(peer_ms * GOAL.factor, peer_ms + GOAL.more_ms);
  return { text: `≤ ${GOAL.factor} × or + ${GOAL.more_ms} ms`, met };
}
