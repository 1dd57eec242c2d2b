import type { RunContext } from "../bench.ts";
import { startS3 } from "../../test/support/s3_server.ts";
import { freePort } from "../../test/support/free_port.ts";
import type { Company } from "../company.ts";
import { type Finding, finding } from "../finding.ts";
import type { Deployment, Manifest } from "../goals/deployment.ts";
import { BATCHES, recentEvents, requestsOf } from "../ingest.ts";
import { runLoad } from "../load.ts";
import type { Plan } from "../plan.ts";
import { Service } from "../service.ts";
import { median } from "../stats.ts";
import { round } from "../table.ts";
import { openCompanies } from "./bills.ts";
import type { Place } from "./databases.ts";

/** Companies whose events are sent: one in each lane. */
const LANES = 8;
const LOOK_MS = 100;
const OWNED_LIMIT_MS = 120_000;

/** The rates of one and of two instances on ClickHouse, beside one process on DuckDB. */
export async function storeOnInstances(
  plan: Plan,
  { service, manifest }: Deployment,
  { moved, place, jwt_secret }: { moved: Service; place: Place; jwt_secret: string },
  { cleanup, progress }: RunContext,
): Promise<Finding[]> {
  const what = `ingest in batches of ${BATCHES.size}, ${LANES} companies`;
  progress(`${what}, on DuckDB and on one instance`);
  const duckdb = await rates(plan, manifest, [service]);
  await service.stop();
  await ownLanes([moved]);
  const one = await rates(plan, manifest, [moved]);
  await moved.stop();
  progress(`${what}, on two instances`);
  const s3 = startS3();
  cleanup.add(() => s3.stop());
  const common = {
    ...place.settings,
    JWT_SECRET: jwt_secret,
    PUBLIC_URL: "http://billing.localhost:8080",
    DOCUMENTS_URL: `s3://bucket?endpoint=${s3.url}`,
    AWS_ACCESS_KEY_ID: "key",
    AWS_SECRET_ACCESS_KEY: "secret",
  };
  const instances: Service[] = [];
  for (const data_dir of [place.data_dir, cleanup.folder()]) {
    const port = String(await freePort());
    const own = { DATA_DIR: data_dir, PORT: port, INSTANCE_URL: `http://127.0.0.1:${port}` };
    const instance = new Service(cleanup, data_dir, { ...common, ...own });
    instances.push(instance);
    await instance.start();
  }
  await ownLanes(instances);
  const two = await rates(plan, manifest, instances);
  for (const instance of instances) await instance.stop();
  return [
    rateFinding(`${what}, on ClickHouse, one instance`, plan.events, one, duckdb),
    rateFinding(`${what}, on ClickHouse, two instances, any of which is asked`, plan.events, two, duckdb),
  ];
}

/** Waits until each instance owns its share of the lanes: then it has read the ids of these. */
async function ownLanes(instances: readonly Service[]): Promise<void> {
  const limit = performance.now() + OWNED_LIMIT_MS;
  const lanesOf = (instance: Service) => instance.metric("meterhouse_usage_lanes");
  while (!(await Promise.all(instances.map(lanesOf))).every((lanes) => lanes === LANES / instances.length)) {
    if (performance.now() > limit) throw new Error("Cannot go on: the lanes have no owners");
    await Bun.sleep(LOOK_MS);
  }
}

/** Events a second in each round; requests go to the instances in turns, whichever owns the company's lane. */
async function rates(plan: Plan, manifest: Manifest, instances: readonly Service[]): Promise<number[]> {
  const found: number[] = [];
  const sides = await Promise.all(
    instances.map(async (instance) => ({
      origin: instance.origin,
      companies: await openCompanies(instance, manifest.companies.slice(-LANES)),
    })),
  );
  const each = Math.floor(plan.batched_events / instances.length / LANES);
  for (let taken = 0; taken <= plan.rounds; taken++) {
    const loads = sides.map(({ origin, companies }) => {
      const requests = inTurns(companies, each);
      return { origin, requests, connections: BATCHES.connections / instances.length, status: 201 };
    });
    const before = performance.now();
    await Promise.all(loads.map(runLoad));
    const per_s = (each * LANES * instances.length) / ((performance.now() - before) / 1_000);
    // The first only warms up.
    if (taken > 0) found.push(per_s);
  }
  return found;
}

/** The requests of all companies, one of each after the other. */
function inTurns(companies: readonly Company[], each: number): Uint8Array[] {
  const own = companies.map((company) => [...requestsOf(company, recentEvents(company, each), BATCHES.size)]);
  const most = Math.max(...own.map(({ length }) => length));
  return Array.from({ length: most }, (_, i) => own.flatMap((requests) => requests[i] ?? [])).flat();
}

function rateFinding(
  what: string,
  events: number,
  own: readonly number[],
  duckdb: readonly number[],
): Finding {
  const [rate, beside] = [median(own), median(duckdb)];
  return finding(what, events, {
    measured: `${round(rate)} events/s`,
    peer: `${round(beside)} events/s, one process on DuckDB`,
    ratio: `${(rate / beside).toFixed(2)} ×`,
    figures: [{ name: "rate", unit: "events/s", values: own }],
    peers: [{ name: "one process on DuckDB", unit: "events/s", values: duckdb }],
  });
}
