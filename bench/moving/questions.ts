import { Type } from "@sinclair/typebox";
import type { RunContext } from "../bench.ts";
import type { Company } from "../company.ts";
import { Connection } from "../connection.ts";
import { type Finding, figureOf, latencyFinding, notMeasured } from "../finding.ts";
import type { Deployment } from "../goals/deployment.ts";
import { PartContext } from "../goals/part.ts";
import { writeData } from "../goals/peers.ts";
import { bodyOf, QUESTIONS, SERIES_PATH } from "../goals/series.ts";
import { openClickHouse } from "../peers/clickhouse.ts";
import type { Peer } from "../peers/peer.ts";
import { PEER_QUERIES, type PeerQuery } from "../peers/queries.ts";
import { type Plan, type Side, takeTurnsAmong } from "../plan.ts";
import { BY_CLIENT, BY_SUBSCRIPTION, METADATA_GROUPS, QUERIES, type Search } from "../queries.ts";
import { SEARCH_PATH } from "../search.ts";
import type { Service } from "../service.ts";
import { shaped } from "../shape.ts";
import { measured, medianOf, timeEach } from "../stats.ts";
import { factor, ms } from "../table.ts";
import { openCompanies } from "./bills.ts";

const CLICKHOUSE = "Meterhouse on ClickHouse";
const DUCKDB = "Meterhouse on DuckDB";
const DIRECT = "ClickHouse asked directly";

const Answer = Type.Object({ data: Type.Unknown() });

/** How long a side is asked in a round; one whose first answer takes over `SLOW_MS` is not asked again. */
const SECONDS = 0.5;
const SLOW_MS = 2_000;

/** A question to a company: the same for both services, and maybe in SQL. */
interface Asked {
  what: string;
  /** The company's place among the deployment's. */
  company: number;
  path: string;
  body: unknown;
  /** What of an answer must be equal. */
  read(answer: unknown): unknown;
  query?: PeerQuery;
}

/** Asks both services, and ClickHouse itself, what is asked of usage: all must say the same. */
export async function askBoth(
  plan: Plan,
  deployment: Deployment,
  moved: Service,
  { cleanup, progress }: RunContext,
): Promise<{ findings: Finding[]; failed: boolean }> {
  const context = new PartContext(plan, deployment, cleanup, progress);
  await deployment.service.start();
  const findings: Finding[] = [];
  let direct: Peer | undefined;
  try {
    progress("filling ClickHouse, to ask it directly");
    direct = await openClickHouse(cleanup, await writeData(context));
  } catch (error) {
    findings.push(notMeasured(DIRECT, error instanceof Error ? error.message : String(error)));
  }
  context.closeCopy();
  // The large, the middle and the small one.
  const asked_companies = deployment.manifest.companies.slice(0, 3);
  const sides = {
    clickhouse: await openCompanies(moved, asked_companies),
    duckdb: await openCompanies(deployment.service, asked_companies),
  };
  try {
    for (const asked of allAsked(context))
      findings.push(await context.attempt(asked.what, () => compare(context, sides, asked, direct)));
  } finally {
    await direct?.close();
  }
  return { findings, failed: context.failed };
}

function allAsked(context: PartContext): Asked[] {
  const { large, middle, small } = context.deployment.companies;
  const searched = (search: Search, i: number, company: Company, size: string): Asked => ({
    what: `${search.what}, ${size} company`,
    company: i,
    path: SEARCH_PATH,
    body: search.body(context.rangeOf(company)),
    read: (answer) => search.fromResponse(answer),
  });
  const beside = PEER_QUERIES.flatMap((query) =>
    Object.entries({ large, middle, small }).map(([size, company], i) => ({
      ...searched(query, i, company, size),
      query,
    })),
  );
  const [, by_pairs, by_word] = QUERIES;
  const others = [by_pairs, by_word, BY_CLIENT, BY_SUBSCRIPTION, METADATA_GROUPS].flatMap((query) =>
    query ? [searched(query, 0, large, "large")] : [],
  );
  const charts = QUESTIONS.map(({ what, body }) => ({
    what: `usage ${what}, large company`,
    company: 0,
    path: SERIES_PATH,
    body: bodyOf(context, body),
    // Beside it stands when it was answered.
    read: (answer: unknown) => shaped(Answer, answer, "a chart").data,
  }));
  return [...beside, ...others, ...charts];
}

async function compare(
  context: PartContext,
  { clickhouse, duckdb }: Record<"clickhouse" | "duckdb", readonly Company[]>,
  asked: Asked,
  direct: Peer | undefined,
): Promise<Finding> {
  const bounds = { times: context.plan.searches, seconds: Math.min(context.plan.seconds, SECONDS) };
  const sides = new Map<string, Side>();
  const connections: Connection[] = [];
  const answers: unknown[] = [];
  const addSide = async (name: string, ask: () => Promise<unknown>, again: Side): Promise<void> => {
    const before = performance.now();
    const answer = await ask();
    const took_ms = performance.now() - before;
    if (answers.length > 0 && !Bun.deepEquals(answers[0], answer))
      throw new Error(`${name} answers ${shown(answer)}, not ${shown(answers[0])}`);
    answers.push(answer);
    const first = measured(1, took_ms, [took_ms]);
    sides.set(name, took_ms > SLOW_MS ? async () => first : again);
  };
  try {
    for (const [name, companies] of [
      [DUCKDB, duckdb],
      [CLICKHOUSE, clickhouse],
    ] as const) {
      const company = companies[asked.company];
      if (!company) throw new Error(`There is no company ${asked.company}`);
      const connection = await Connection.open(company.origin);
      connections.push(connection);
      const request = company.request("POST", asked.path, asked.body);
      const ask = async (): Promise<unknown> => {
        const { status, body } = await connection.send(request);
        const text = new TextDecoder().decode(body);
        if (status !== 200) throw new Error(`${name} answered ${status}: ${text.slice(0, 300)}`);
        return asked.read(JSON.parse(text));
      };
      await addSide(name, ask, () => timeEach(bounds, () => connection.send(request)));
    }
    if (asked.query && direct) {
      const { query } = asked;
      const company = clickhouse[asked.company];
      if (!company) throw new Error(`There is no company ${asked.company}`);
      const sql = query.sql(context.rangeOf(company), direct.dividing);
      const ask = async () => query.fromRows(await direct.query(sql));
      await addSide(DIRECT, ask, () => direct.measure(sql, bounds));
    }
    const medians = await takeTurnsAmong(context.plan, sides);
    const subject = medians.get(CLICKHOUSE) ?? medianOf([]);
    medians.delete(CLICKHOUSE);
    const ratio = subject.p50_ms / (medians.get(DUCKDB)?.p50_ms ?? Number.NaN);
    const line = latencyFinding(`${asked.what}, on ClickHouse`, context.events, {
      subject,
      ratio: `${factor(ratio)} × DuckDB`,
      peers: [...medians].map(([name, median]) => ({ ...figureOf(median, "p50_ms"), name })),
    });
    const peer = [...medians].map(([name, median]) => `${name} ${ms(median.p50_ms)}`).join(", ");
    return { ...line, peer };
  } finally {
    for (const connection of connections) connection.close();
  }
}

const shown = (answer: unknown): string => JSON.stringify(answer)?.slice(0, 100) ?? "nothing";
