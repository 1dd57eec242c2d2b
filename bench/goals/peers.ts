import { chmodSync } from "node:fs";
import { join } from "node:path";
import type { Cleanup } from "../cleanup.ts";
import type { Company } from "../company.ts";
import { Connection } from "../connection.ts";
import { openClickHouse } from "../peers/clickhouse.ts";
import { openDuck } from "../peers/duckdb.ts";
import type { Peer, PeerData } from "../peers/peer.ts";
import { openPostgres } from "../peers/postgres.ts";
import { PEER_QUESTIONS, type PeerQuestion } from "../peers/questions.ts";
import { openSqlite } from "../peers/sqlite.ts";
import { type Side, takeRounds, takeTurnsAmong } from "../plan.ts";
import { eventsToCsv } from "../questions.ts";
import { Searcher } from "../search.ts";
import { measured, timeEach } from "../stats.ts";
import { factor, ms } from "../table.ts";
import { type Finding, latencyFinding, notMeasured, type SizedGoal } from "./finding.ts";
import type { Part, Scene } from "./part.ts";

/** The goal is set for so many events; loading more of them into every peer takes long. */
const EVENTS = 10_000_000;
const NEAR = 2;
/** How long a peer is asked in a round; one whose first answer takes as long as `SLOW_MS` is not asked again. */
const SECONDS = 0.5;
const SLOW_MS = 2_000;

const SUBJECT = "Meterhouse";

/** An engine that is filled, by its name. */
type Opened = ReadonlyMap<string, Peer>;

/** The same questions about the same events, put to other engines. */
export const peers: Part = {
  name: "peers",
  summary: "searches against PostgreSQL, SQLite, ClickHouse and plain DuckDB that hold the same events",
  async run(scene) {
    if (scene.events > EVENTS)
      return [
        notMeasured("searches beside other engines", "only up to 10 M events, for which the goal is set"),
      ];
    const { opened, findings } = await openPeers(scene);
    const { large, middle, small } = scene.deployment.companies;
    try {
      findings.push(await smallRequest(scene, opened));
      for (const question of PEER_QUESTIONS) {
        for (const [size, company] of Object.entries({ large, middle, small })) {
          const what = `${question.what}, ${size} company, beside other engines`;
          const goal = question.aggregate && size === "large" ? "first" : "near";
          const work = () => compare(scene, opened, { what, question, company, goal });
          findings.push(await scene.attempt(what, work));
        }
      }
      return findings;
    } finally {
      for (const peer of opened.values()) await peer.close();
    }
  },
};

async function compare(
  scene: Scene,
  opened: Opened,
  wanted: { what: string; question: PeerQuestion; company: Company; goal: "first" | "near" },
): Promise<Finding> {
  const { what, question, company, goal } = wanted;
  const asked = scene.asked(company);
  const searcher = await Searcher.open(company, question, asked);
  try {
    const bounds = { times: scene.plan.searches, seconds: Math.min(scene.plan.seconds, SECONDS) };
    const sides = new Map<string, Side>();
    const said = await searcher.ask();
    for (const [name, peer] of opened) {
      const sql = question.sql(asked, peer.dividing);
      const before = performance.now();
      const peer_said = question.fromRows(await peer.ask(sql));
      const took_ms = performance.now() - before;
      if (!Bun.deepEquals(said, peer_said))
        throw new Error(`${name} says ${peer_said.join(" ")}, the service ${said.join(" ")}`);
      const first = measured(1, took_ms, [took_ms]);
      sides.set(name, async () => (took_ms > SLOW_MS ? first : peer.measure(sql, bounds)));
    }
    sides.set(SUBJECT, () => timeEach(bounds, () => searcher.send()));
    const medians = await takeTurnsAmong(scene.plan, sides);
    const p50_ms = medians.get(SUBJECT)?.p50_ms ?? Number.NaN;
    medians.delete(SUBJECT);
    const best_ms = Math.min(...[...medians.values()].map((median) => median.p50_ms));
    return latencyFinding(what, scene.events, {
      p50_ms,
      peer: [...medians].map(([name, median]) => `${name} ${ms(median.p50_ms)}`).join(", "),
      ratio: `${factor(p50_ms / best_ms)} × the best`,
      goal: goalOf(goal, p50_ms / best_ms),
    });
  } finally {
    searcher.close();
  }
}

/** How much of every figure of the service is HTTP, signing in and one read, which the peers are spared. */
async function smallRequest(scene: Scene, opened: Opened): Promise<Finding> {
  const { large } = scene.deployment.companies;
  const request = large.request("GET", `/clients/${large.subscriptions[0]?.client_id}`);
  const connection = await Connection.open(large.origin);
  const bounds = { times: scene.plan.searches, seconds: SECONDS };
  const { p50_ms } = await takeRounds(scene.plan, () => timeEach(bounds, () => connection.send(request)));
  connection.close();
  return latencyFinding("to compare with: GET one client over one connection", scene.events, {
    p50_ms,
    peer: `below: ${[...opened.values()].map(({ version }) => version).join(", ")}`,
  });
}

/** Aggregates of a large company must be the first of all, everything else near the best. */
function goalOf(goal: "first" | "near", ratio: number): SizedGoal {
  if (goal === "first") return { text: "faster than all", met: ratio < 1, at: EVENTS };
  return { text: `≤ ${NEAR} × the best`, met: ratio <= NEAR, at: EVENTS };
}

/** Loads every engine with the events of the copy; one that can't be used is told of, and the others go on. */
async function openPeers(scene: Scene): Promise<{ opened: Opened; findings: Finding[] }> {
  const { cleanup, progress } = scene;
  progress("writing the events to a file for the other engines");
  const data = await writeData(scene);
  scene.closeCopy();
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
async function writeData(scene: Scene): Promise<PeerData> {
  const { manifest, companies } = scene.deployment;
  const folder = scene.cleanup.folder();
  const events = join(folder, "events.csv");
  await (await scene.copy()).read(eventsToCsv(events, companies.writer.id));
  // PostgreSQL may read it as a user of its own.
  chmodSync(folder, 0o755);
  return {
    events,
    subscriptions: manifest.companies.flatMap(({ id: company_id, subscriptions }) =>
      subscriptions.map(({ id, client_id, product_id }) => ({ id, company_id, client_id, product_id })),
    ),
  };
}
