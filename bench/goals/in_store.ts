import { dirname, join } from "node:path";
import { Type } from "@sinclair/typebox";
import { LIMITS } from "../../src/usage/limits.ts";
import { openDuckDb } from "../../src/usage_store/duckdb/duckdb_store.ts";
import type { AggregateQuery } from "../../src/usage_store/port.ts";
import { atMost, latencyFinding } from "../finding.ts";
import { FULL, takeRounds } from "../plan.ts";
import { runProcess } from "../processes.ts";
import { DAY_MS } from "../queries.ts";
import { ENGINE } from "../raw_usage.ts";
import { shaped } from "../shape.ts";
import { medianOf, timeEach } from "../stats.ts";
import { dataDir, readManifest } from "./deployment.ts";
import type { Part } from "./part.ts";

/** The small company's place in the manifest. */
const SMALL = 2;
const GOAL_MS = 2;
const TIMEOUT_MS = 60_000;

type Query = Pick<AggregateQuery, "group_by" | "start_ms" | "end_ms">;

const QUERIES: Record<string, (until_ms: number) => Query> = {
  "by day over 30 days": (until_ms) => ({
    group_by: ["day"],
    start_ms: until_ms - 30 * DAY_MS,
    end_ms: until_ms,
  }),
  "by day, all time": () => ({ group_by: ["day"] }),
  "by subscription, all time": () => ({ group_by: ["subscription"] }),
};

const Round = Type.Object({
  per_s: Type.Number(),
  p50_ms: Type.Number(),
  p95_ms: Type.Number(),
  p99_ms: Type.Number(),
  max_ms: Type.Number(),
});
const Answer = Type.Array(Type.Object({ what: Type.String(), rounds: Type.Array(Round) }));

/** What of a small company's answer is the store's: by its port, in a process of its own instead of the service. */
export const inStore: Part = {
  name: "store",
  summary: "the small company's aggregates by the port of the usage store, without HTTP",
  async run({ events, cleanup, deployment: { service } }) {
    await service.stop();
    const words = ["bench/main.ts", "--in-store", dirname(service.data_dir)];
    const printed = await runProcess(cleanup, words, {});
    return shaped(Answer, JSON.parse(printed), "what was measured in the store").map(({ what, rounds }) => {
      const subject = medianOf(rounds);
      const line = `aggregate ${what}, small company, in the store`;
      return latencyFinding(line, events, { subject, goal: atMost(GOAL_MS, "ms", subject.p50_ms) });
    });
  },
};

/** Measures the small company's aggregates on the store of a deployment's folder, and prints the rounds. */
export async function measureInStore(folder: string): Promise<void> {
  const { companies, until_ms } = readManifest(folder);
  const { memory_limit } = ENGINE;
  const store = await openDuckDb({ path: join(dataDir(folder), "usage.duckdb"), memory_limit });
  const common = {
    company_id: companies[SMALL]?.id ?? 0,
    time_zone: "UTC",
    max_groups: LIMITS.usage_groups,
    max_key_length: LIMITS.usage_group_key_length,
  };
  const measured: { what: string; rounds: unknown }[] = [];
  for (const [what, query] of Object.entries(QUERIES)) {
    const wanted = { ...common, ...query(until_ms) };
    if ((await store.aggregate(wanted, TIMEOUT_MS)).length === 0)
      throw new Error(`Cannot measure ${what}: the small company has no events`);
    const bounds = { times: FULL.searches, seconds: FULL.seconds };
    const work = () => timeEach(bounds, () => store.aggregate(wanted, TIMEOUT_MS));
    measured.push({ what, rounds: (await takeRounds(FULL, work)).rounds });
  }
  await store.close();
  console.log(JSON.stringify(measured));
}
