import { statSync } from "node:fs";
import { join } from "node:path";
import type { Report, RunContext } from "../bench.ts";
import { type Finding, finding } from "../finding.ts";
import { type Deployment, openDeployment } from "../goals/deployment.ts";
import { pastHourlyRun } from "../hourly_run.ts";
import type { Plan } from "../plan.ts";
import type { Ran } from "../processes.ts";
import { Service } from "../service.ts";
import { billAll, compareHoldings, type Holdings, holdingsOf, openCompanies } from "./bills.ts";
import { type Bytes, Databases, type Place, usedBytes } from "./databases.ts";
import { askBoth } from "./questions.ts";
import { storeOnInstances } from "./instances.ts";
import { backUp, bytesBelow, cutOff, move, type Proved, verifyBackup } from "./move.ts";

/** What both services have in common: a user's token holds at each. */
const JWT_SECRET = "a secret of the benchmark only, 48 characters long";

/**
 * Moves a deployment whose periods are billed from SQLite and DuckDB to PostgreSQL and ClickHouse's engine, proves all of
 * its bills there and again in a backup of it, and asks both what is asked of usage. `keep` is a folder to store the
 * deployment in, or with one to use again. Errors: throws where anything differs.
 */
export async function measureMoving(
  plan: Plan,
  keep: string | undefined,
  context: RunContext,
): Promise<Report> {
  const { cleanup, progress, save } = context;
  const findings: Finding[] = [];
  const add = (...found: Finding[]): void => {
    findings.push(...found);
    save(found);
  };
  const deployment = await openDeployment(cleanup, plan.events, { keep, progress });
  await pastHourlyRun(plan.events, progress);
  progress("billing what is due");
  const companies = await openCompanies(deployment.service, deployment.manifest.companies);
  await billAll(companies);
  const before = await holdingsOf(companies);
  await deployment.service.stop();
  const databases = await Databases.start(cleanup);
  const { place, found } = await moveTo(databases, deployment, before, context);
  add(...found);
  const moved = new Service(cleanup, place.data_dir, { ...place.settings, JWT_SECRET });
  await moved.start();
  progress("comparing bills and usage of all companies");
  compareHoldings(before, await holdingsOf(await openCompanies(moved, deployment.manifest.companies)));
  const asked = await askBoth(plan, deployment, moved, context);
  add(...asked.findings);
  await deployment.service.start();
  add(...(await storeOnInstances(plan, deployment, { moved, place, jwt_secret: JWT_SECRET }, context)));
  add(...(await goBack(place, plan.events, context)));
  progress("done");
  const bills = before.reduce((sum, one) => sum + one.bills, 0).toLocaleString("en-US");
  return {
    preface: `${plan.events.toLocaleString("en-US")} events of ${before.length} companies, and their ${bills} bills; \
one round of what is moved. ClickHouse is its engine in one process, which answers one statement at a time.`,
    findings,
    failed: asked.failed,
  };
}

/** Moves a deployment that is stopped, after a try that is cut off. */
async function moveTo(
  databases: Databases,
  { service }: Deployment,
  before: readonly Holdings[],
  { cleanup, progress }: RunContext,
): Promise<{ place: Place; found: Finding[] }> {
  const backups = cleanup.folder();
  // With those that an earlier run stored, where the deployment was kept.
  const events = before.reduce((sum, one) => sum + one.events, 0);
  progress("taking a backup");
  const taken = await backUp(cleanup, { DATA_DIR: service.data_dir }, backups);
  progress("moving, and killing it half-way");
  await cutOff(cleanup, await databases.emptyPlace(), backups, events);
  progress("moving into an empty place");
  const place = await databases.emptyPlace();
  const moved = await move(cleanup, place, backups);
  const bills = before.reduce((sum, one) => sum + one.bills, 0);
  if (moved.restored !== events || moved.bills !== bills)
    throw new Error(
      `Cannot go on: ${moved.restored} events were moved, and ${moved.bills} of ${bills} bills proved`,
    );
  progress("waiting until ClickHouse has merged");
  const bytes = await databases.bytesOf(place);
  const duckdb = join(service.data_dir, "usage.duckdb");
  const sqlite = statSync(join(service.data_dir, "meterhouse.sqlite")).size;
  const found = [
    ranFinding("backup of SQLite and DuckDB", events, taken),
    sizeFinding("bytes of the backup", events, bytesBelow(backups)),
    provedFinding("move to PostgreSQL and ClickHouse, all proved", events, moved),
    sizeFinding("bytes of events in DuckDB's file", events, statSync(duckdb).size),
    sizeFinding("bytes of these that hold something", events, await usedBytes(duckdb)),
    eventsFinding(events, bytes),
    sizeFinding("bytes of records in SQLite", events, sqlite),
    sizeFinding("bytes of records in PostgreSQL", events, bytes.postgres),
  ];
  return { place, found };
}

/** Goes back by a backup of what was moved, which also has what was stored since. */
async function goBack(place: Place, events: number, { cleanup, progress }: RunContext): Promise<Finding[]> {
  const backups = cleanup.folder();
  progress("taking a backup of what was moved");
  const taken = await backUp(cleanup, place.settings, backups);
  progress("going back by it to SQLite and DuckDB");
  const back = await verifyBackup(cleanup, cleanup.folder(), backups);
  return [
    ranFinding("backup of PostgreSQL and ClickHouse", events, taken),
    provedFinding("back to SQLite and DuckDB, all proved", events, back),
  ];
}

function ranFinding(what: string, events: number, ran: Ran, more = ""): Finding {
  const { seconds, cpu_s, peak_bytes } = ran;
  const peak_mib = Math.round(peak_bytes / 2 ** 20);
  return finding(what, events, {
    measured: `${seconds.toFixed(1)} s, ${cpu_s.toFixed(1)} s of processor time, at most ${peak_mib} MiB${more}`,
    figures: [
      { name: "time", unit: "s", values: [seconds] },
      { name: "processor time", unit: "s", values: [cpu_s] },
      { name: "memory", unit: "MiB", values: [peak_mib] },
    ],
  });
}

function provedFinding(what: string, events: number, { restored, bills, hours, ...ran }: Proved): Finding {
  const counts = { events: restored, bills, "sums by hour": hours };
  const texts = Object.entries(counts).map(([name, count]) => `${count.toLocaleString("en-US")} ${name}`);
  return ranFinding(what, events, ran, `; ${texts.join(", ")}`);
}

function sizeFinding(what: string, events: number, bytes: number, more = ""): Finding {
  const mib = bytes / 2 ** 20;
  const each = bytes / events;
  return finding(what, events, {
    measured: `${mib.toFixed(1)} MiB, ${each.toFixed(1)} an event${more}`,
    figures: [{ name: "each", unit: "bytes", values: [each] }],
  });
}

function eventsFinding(events: number, bytes: Bytes): Finding {
  const columns = Object.entries(bytes.columns).map(([name, each]) => `${name} ${each.toFixed(1)}`);
  return sizeFinding("bytes of events in ClickHouse", events, bytes.events, `: ${columns.join(", ")}`);
}
