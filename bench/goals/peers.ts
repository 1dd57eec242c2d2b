import { chmodSync } from "node:fs";
import { join } from "node:path";
import type { Cleanup } from "../cleanup.ts";
import type { Company } from "../company.ts";
import { Connection } from "../connection.ts";
import { figureOf, type Finding, type Goal, latencyFinding, notMeasured } from "../finding.ts";
import { openClickHouse } from "../peers/clickhouse.ts";
import { openDuck } from "../peers/duckdb.ts";
import type { Peer, PeerData } from "../peers/peer.ts";
import { openPostgres } from "../peers/postgres.ts";
import { PEER_QUERIES, type PeerQuery } from "../peers/queries.ts";
import { openSqlite } from "../peers/sqlite.ts";
import { type Side, takeRounds, takeTurnsAmong } from "../plan.ts";
import { eventsToCsv } from "../queries.ts";
import { Searcher } from "../search.ts";
import { measured, medianOf, timeEach } from "../stats.ts";
import { factor, ms } from "../table.ts";
import type { Part, PartContext } from "./part.ts";

/** The goal is set for so many events; loading more of them into every peer takes long. */
const EVENTS = 10_000_000;
const NEAR = 2;
/** How long a peer is queried in a round; one whose first answer takes over `SLOW_MS` is not queried again. */
const SECONDS = 0.5;
const SLOW_MS = 2_000;

const SUBJECT = "Meterhouse";

/** An engine that is filled, by its name. */
type Opened = ReadonlyMap<string, Peer>;

/** The same queries over the same events, run on other engines. */
export const peers: Part = {
  name: "peers",
  summary: "searches against PostgreSQL, SQLite, ClickHouse and plain DuckDB that hold the same events",
  async run(context) {
    if (context.events > EVENTS)
      return [
        notMeasured("searches beside other engines", "only up to 10 M events, for which the goal is set"),
      ];
    const { opened, findings } = await openPeers(context);
    const { large, middle, small } = context.deployment.companies;
    try {
      findings.push(await smallRequest(context, opened));
      for (const query of PEER_QUERIES) {
        for (const [size, company] of Object.entries({ large, middle, small })) {
          const what = `${query.what}, ${size} company, beside other engines`;
          const goal = query.aggregate && size === "large" ? "first" : "near";
          const work = () => compare(context, opened, { what, query, company, goal });
          findings.push(await context.attempt(what, work));
        }
      }
      return findings;
    } finally {
      for (const peer of opened.values()) await peer.close();
    }
  },
};

async function compare(
  context: PartContext,
  opened: Opened,
  wanted: { what: string; query: PeerQuery; company: Company; goal: "first" | "near" },
): Promise<Finding> {
  const { what, query, company, goal } = wanted;
  const range = context.rangeOf(company);
  const searcher = await Searcher.open(company, query, range);
  try {
    const bounds = { times: context.plan.searches, seconds: Math.min(context.plan.seconds, SECONDS) };
    const sides = new Map<string, Side>();
    const answer = await searcher.answer();
    for (const [name, peer] of opened) {
      const sql = query.sql(range, peer.dividing);
      const before = performance.now();
      const peer_answer = query.fromRows(await peer.query(sql));
      const took_ms = performance.now() - before;
      if (!Bun.deepEquals(answer, peer_answer))
        throw new Error(`${name} answers ${peer_answer.join(" ")}, the service ${answer.join(" ")}`);
      const first = measured(1, took_ms, [took_ms]);
      sides.set(name, async () => (took_ms > SLOW_MS ? first : peer.measure(sql, bounds)));
    }
    sides.set(SUBJECT, () => timeEach(bounds, () => searcher.send()));
    const medians = await takeTurnsAmong(context.plan, sides);
    const subject = medians.get(SUBJECT) ?? medianOf([]);
    medians.delete(SUBJECT);
    const best_ms = Math.min(...[...medians.values()].map((median) => median.p50_ms));
    const ratio = subject.p50_ms / best_ms;
    const finding = latencyFinding(what, context.events, {
      subject,
      ratio: `${factor(ratio)} × the best`,
      goal: goalOf(goal, ratio),
      peers: [...medians].map(([name, median]) => ({ ...figureOf(median, "p50_ms"), name })),
    });
    const peer = [...medians].map(([name, median]) => `${name} ${ms(median.p50_ms)}`).join(", ");
    return { ...finding, peer };
  } finally {
    searcher.close();
  }
}

/** How much of every figure of the service is HTTP, authentication and one read, which the peers do without. */
async function smallRequest(context: PartContext, opened: Opened): Promise<Finding> {
  const { large } = context.deployment.companies;
  const request = large.request("GET", `/clients/${large.subscriptions[0]?.client_id}`);
  const connection = await Connection.open(large.origin);
  const bounds = { times: context.plan.searches, seconds: SECONDS };
  const subject = await takeRounds(context.plan, () => timeEach(bounds, () => connection.send(request)));
  connection.close();
  const what = "to compare with: GET one client over one connection";
  const engines = [...opened.values()].map(({ version }) => version).join(", ");
  return { ...latencyFinding(what, context.events, { subject }), peer: `below: ${engines}` };
}

/** Aggregates of a large company must be the first of all, everything else near the best. */
function goalOf(goal: "first" | "near", ratio: number): Goal {
  if (goal === "first") return { text: "faster than all", met: ratio < 1, at: EVENTS };
  return { text: `≤ ${NEAR} × the best`, met: ratio <= NEAR, at: EVENTS };
}

/** Loads every engine with the events of the copy; one that can't be used becomes a finding, and the others go on. */
async function openPeers(context: PartContext): Promise<{ opened: Opened; findings: Finding[] }> {
  const { cleanup, progress } = context;
  progress("writing the events to a file for the other engines");
  const data = await writeData(context);
  context.closeCopy();
  const findings: Finding[] = [];
  const open = async (name: string, opening: (cleanup: Cleanup, data: PeerData) => Promise<Peer>) => {
    const before = performance.now();
    try {
      const peer = await opening(cleanup, data);
      progress(`filled ${name} in ${((performance.now() - before) / 1_000).toFixed(0)} s`);
      return [[name, peer] as const];
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      findings.push(notMeasured(`${name} with the same events`, reason));
      return [];
    }
  };
  progress("filling the other engines");
  // PostgreSQL is filled by its own process, SQLite by this one; the other two take all cores.
  const two = await Promise.all([open("PostgreSQL", openPostgres), open("SQLite", openSqlite)]);
  const opened = [
    ...two.flat(),
    ...(await open("ClickHouse", openClickHouse)),
    ...(await open("DuckDB", openDuck)),
  ];
  return { opened: new Map(opened), findings };
}

/** Writes all events but the writer's, whose number grows with every run. */
export async function writeData(context: PartContext): Promise<PeerData> {
  const { manifest, companies } = context.deployment;
  const folder = context.cleanup.folder();
  const events = join(folder, "events.csv");
  await (await context.copy()).read(eventsToCsv(events, companies.writer.id));
  // PostgreSQL may run as another user.
  chmodSync(folder, 0o755);
  return {
    events,
    subscriptions: manifest.companies.flatMap(({ id: company_id, subscriptions }) =>
      subscriptions.map(({ id, client_id, product_id }) => ({ id, company_id, client_id, product_id })),
    ),
  };
}
