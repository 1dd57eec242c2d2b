import { type DuckDBConnection, DuckDBInstance, type Json } from "@duckdb/node-api";
import type { Company } from "./company.ts";
import { Connection, type RawAnswer } from "./connection.ts";
import { takeTurns, type Turns } from "./plan.ts";
import { type SearchRange, type Query, QUERIES, type Answer, type Search } from "./queries.ts";
import { ENGINE } from "./raw_usage.ts";
import type { Bench, BenchContext } from "./bench.ts";
import { timeEach } from "./stats.ts";
import { type Finding, finding, type Goal, latencyFinding } from "./finding.ts";
import { ms } from "./table.ts";

export const SEARCH_PATH = "/usage/search";
const GOAL = { factor: 1.3, more_ms: 3 };

/** Five searches, one after the other on one connection, each against its SQL on a copy of the same file. */
export const search: Bench = {
  name: "search",
  summary: "POST /usage/search, five searches against the same SQL in-process on a copy of the file",
  needs_events: true,
  async run(context) {
    const { service, company, progress } = context;
    progress("search: copying the usage store");
    const copy = await StoreCopy.open(await service.copyUsage());
    const events = (await copy.countEvents()).toLocaleString("en-US");
    const size = context.plan.events;
    const findings: Finding[] = [
      finding("start with the stored events, up to /ready", size, {
        measured: `${ms(service.ready_ms)} ms with ${events} events`,
        figures: [{ name: "start", unit: "ms", values: [service.ready_ms] }],
      }),
    ];
    const range = currentSearch(company);
    for (const query of QUERIES) {
      progress(`search: ${query.what}`);
      const { subject, peer } = await compareSearch(context, copy, query, range);
      const named = { name: "the same SQL in-process", median: peer };
      const goal = searchGoal(subject.p50_ms, peer.p50_ms);
      findings.push(latencyFinding(query.what, size, { subject, peer: named, goal }));
    }
    copy.close();
    return findings;
  },
};

function currentSearch({ id, subscriptions }: Company): SearchRange {
  return { company_id: id, now_ms: Temporal.Now.instant().epochMilliseconds, subscriptions };
}

/** A copy of the service's usage store, opened in this process with the limits that the service has. */
export class StoreCopy {
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;

  private constructor(instance: DuckDBInstance, connection: DuckDBConnection) {
    this.#instance = instance;
    this.#connection = connection;
  }

  static async open(file: string): Promise<StoreCopy> {
    const instance = await DuckDBInstance.create(file, ENGINE);
    return new StoreCopy(instance, await instance.connect());
  }

  /** The rows of each statement. */
  async read(statements: readonly string[]): Promise<Json[][][]> {
    const results: Json[][][] = [];
    for (const statement of statements)
      results.push(await (await this.#connection.run(statement)).getRowsJson());
    return results;
  }

  async countEvents(): Promise<number> {
    const [counted] = await this.read(["SELECT count(*) FROM usage_events"]);
    return Number(counted?.[0]?.[0]);
  }

  close(): void {
    this.#connection.closeSync();
    this.#instance.closeSync();
  }
}

/** A search sent again and again over one connection. */
export class Searcher {
  readonly #connection: Connection;
  readonly #request: Uint8Array;
  readonly #search: Search;

  private constructor(connection: Connection, request: Uint8Array, wanted: Search) {
    this.#connection = connection;
    this.#request = request;
    this.#search = wanted;
  }

  static async open(company: Company, wanted: Search, range: SearchRange): Promise<Searcher> {
    const request = company.request("POST", SEARCH_PATH, wanted.body(range));
    return new Searcher(await Connection.open(company.origin), request, wanted);
  }

  /** Sends the search once; the response is not read. Errors: throws UnexpectedStatus. */
  async send(): Promise<RawAnswer> {
    const answer = await this.#connection.send(this.#request);
    if (answer.status === 200) return answer;
    throw new UnexpectedStatus(this.#search.what, answer);
  }

  /** Sends the search once and reads its answer. Errors: throws UnexpectedStatus. */
  async answer(): Promise<Answer> {
    const { body } = await this.send();
    return this.#search.fromResponse(JSON.parse(new TextDecoder().decode(body)));
  }

  close(): void {
    this.#connection.close();
  }
}

/** The service answered with another status than was expected. */
export class UnexpectedStatus extends Error {
  readonly status: number;

  constructor(what: string, { status, body }: RawAnswer) {
    super(`Cannot measure ${what}: ${status} ${new TextDecoder().decode(body.slice(0, 300))}`);
    this.status = status;
  }
}

/** The time that a search takes over HTTP, and its SQL on the copy: both must give the same answer. */
export async function compareSearch(
  { plan, company }: BenchContext,
  copy: StoreCopy,
  query: Query,
  range: SearchRange,
): Promise<Turns> {
  const sql = query.sql(range);
  const searcher = await Searcher.open(company, query, range);
  try {
    const [answer, peer_answer] = [await searcher.answer(), query.fromRows(await copy.read(sql))];
    if (!Bun.deepEquals(answer, peer_answer))
      throw new Error(`Cannot compare ${query.what}: ${answer.join(" ")} is not ${peer_answer.join(" ")}`);
    const bounds = { times: plan.searches, seconds: plan.seconds };
    return await takeTurns(plan, {
      peer: () => timeEach(bounds, () => copy.read(sql)),
      subject: () => timeEach(bounds, () => searcher.send()),
    });
  } finally {
    searcher.close();
  }
}

export function searchGoal(subject_ms: number, peer_ms: number): Goal {
  const met = subject_ms <= Math.max(peer_ms * GOAL.factor, peer_ms + GOAL.more_ms);
  return { text: `≤ ${GOAL.factor} × or + ${GOAL.more_ms} ms`, met };
}
