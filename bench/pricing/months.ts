import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { DuckDBInstance } from "@duckdb/node-api";
import type { Progress } from "../bench.ts";
import type { Cleanup } from "../cleanup.ts";
import { Company, Created, type Subscription } from "../company.ts";
import { addCompanies } from "../companies.ts";
import { inParallel } from "../in_parallel.ts";
import { runProcess } from "../processes.ts";
import { ENGINE } from "../raw_usage.ts";
import { Service } from "../service.ts";
import { shaped } from "../shape.ts";
import { lastMonths, startOnCopy } from "../unbilled.ts";
import { ENTITLEMENT, FEATURE, METERS, planOf } from "./plan.ts";

export const SUBSCRIPTIONS = 10_000;
const CLIENTS = 100;

const Named = Type.Object({ id: Type.Integer(), email: Type.String() });

const Months = Type.Object({
  /** In the months that ended, which are not billed; the running month has more, at the same rate. */
  events: Type.Integer(),
  /** "2026-10", in order. */
  names: Type.Array(Type.String(), { minItems: 1 }),
  from: Type.String(),
  to: Type.String(),
  meter_ids: Type.Record(Type.String(), Type.Integer()),
  /** With a limit for each subscription, and with the same plan and no limits and events. */
  limited: Named,
  unlimited: Named,
});

/** Months of companies that price requests to a language model by five charges. */
export type Months = Static<typeof Months>;

/** The months, ready to be measured. */
export interface OpenMonths {
  months: Months;
  service: Service;
  limited: Company;
  unlimited: Company;
}

const dataDir = (folder: string) => join(folder, "data");
const monthsFile = (folder: string) => join(folder, "months.json");

/** Makes months with so many events, in `keep` or in a folder that is deleted at the end, or opens those in `keep`. */
export async function openMonths(
  cleanup: Cleanup,
  { events, months: count }: { events: number; months: number },
  { keep, progress }: { keep: string | undefined; progress: Progress },
): Promise<OpenMonths> {
  const folder = keep ?? cleanup.folder();
  if (!existsSync(monthsFile(folder))) await makeMonths(cleanup, folder, { events, count, progress });
  const read: unknown = JSON.parse(readFileSync(monthsFile(folder), "utf8"));
  const months = shaped(Months, read, monthsFile(folder));
  if (months.events !== events || months.names.length !== count)
    throw new Error(
      `Cannot use ${folder}: it holds ${months.events} events of ${months.names.length} months, not ${events} of ${count}`,
    );
  const service = await startOnCopy(cleanup, dataDir(folder), events, progress);
  return {
    months,
    service,
    limited: await openCompany(service, months.limited),
    unlimited: await openCompany(service, months.unlimited),
  };
}

async function openCompany(service: Service, { id, email }: { id: number; email: string }): Promise<Company> {
  const company = new Company(service, id, email);
  company.subscriptions = Array.from({ length: SUBSCRIPTIONS }, (_, i) => subscriptionOf(i));
  await company.signIn();
  return company;
}

/** What a request names; the other ids are not needed. */
const subscriptionOf = (i: number): Subscription => ({
  id: 0,
  external_subscription_id: `subscription-${i}`,
  client_id: 0,
  product_id: 0,
});

async function makeMonths(
  cleanup: Cleanup,
  folder: string,
  { events, count, progress }: { events: number; count: number; progress: Progress },
): Promise<void> {
  const data_dir = dataDir(folder);
  if (existsSync(data_dir)) throw new Error(`Cannot use ${folder}: it holds data of something else`);
  mkdirSync(data_dir, { recursive: true });
  const bounds = lastMonths(count);
  const [first, second] = await addCompanies(data_dir, ["limited", "unlimited"]);
  if (first === undefined || second === undefined) throw new Error("Cannot go on: two companies are needed");
  const service = new Service(cleanup, data_dir);
  await service.start();
  progress(`making 2 × ${SUBSCRIPTIONS.toLocaleString("en-US")} subscriptions`);
  const company = new Company(service, first.id, first.email);
  const other = new Company(service, second.id, second.email);
  const meter_ids = await makeRecords(company, bounds.from, [ENTITLEMENT]);
  await makeRecords(other, bounds.from, []);
  await service.stop();

  const stored = await storeEvents(cleanup, data_dir, { company_id: first.id, events, ...bounds, progress });
  progress(`stored ${stored.toLocaleString("en-US")} events`);
  const months: Months = {
    events,
    ...bounds,
    meter_ids,
    limited: first,
    unlimited: second,
  };
  writeFileSync(monthsFile(folder), JSON.stringify(months));
}

/** Makes a company's meters, which it returns by their codes, its plan and those who have it. */
async function makeRecords(
  company: Company,
  started_at: string,
  entitlements: readonly unknown[],
): Promise<Record<string, number>> {
  await company.signIn();
  const create = async (path: string, body: unknown) =>
    (await company.fetchJson(Created, "POST", path, body)).data.id;
  const meter_ids: Record<string, number> = {};
  for (const meter of METERS) meter_ids[meter.code] = await create("/meters", meter);
  const { meter, ...feature } = FEATURE;
  await create("/features", { ...feature, meter_id: meter_ids[meter] });
  const billing_model_id = await create("/billing-models", { ...planOf(meter_ids), entitlements });
  const product_id = await create("/products", { name: "Requests" });
  const clients = await inParallel(CLIENTS, (i) => create("/clients", { name: `Client ${i}` }));
  await inParallel(SUBSCRIPTIONS, (i) =>
    create("/subscriptions", {
      name: `Subscription ${i}`,
      external_subscription_id: subscriptionOf(i).external_subscription_id,
      client_id: clients[i % CLIENTS],
      product_id,
      billing_model_id,
      started_at,
    }),
  );
  return meter_ids;
}

/** Imports events from the first month up to now, month by month; how many those were. */
async function storeEvents(
  cleanup: Cleanup,
  data_dir: string,
  {
    company_id,
    events,
    from,
    to,
    progress,
  }: { company_id: number; events: number; from: string; to: string; progress: Progress },
): Promise<number> {
  const [from_ms, to_ms] = [from, to].map((text) => Temporal.Instant.from(text).epochMilliseconds);
  const interval_ms = ((to_ms ?? 0) - (from_ms ?? 0)) / events;
  const all = Math.floor((Temporal.Now.instant().epochMilliseconds - (from_ms ?? 0)) / interval_ms);
  const file = join(data_dir, "..", "events.parquet");
  for (let first = 0; first < all; first += FILE_EVENTS) {
    progress(
      `storing events ${first.toLocaleString("en-US")} to ${Math.min(all, first + FILE_EVENTS).toLocaleString("en-US")}`,
    );
    await writeEvents(file, {
      first,
      end: Math.min(all, first + FILE_EVENTS),
      from_ms: from_ms ?? 0,
      interval_ms,
    });
    const words = ["src/main.ts", "import", "usage", file, "--company", String(company_id)];
    const printed = await runProcess(cleanup, words, { DATA_DIR: data_dir });
    rmSync(file);
    const accepted = Number(/(\d+) accepted/.exec(printed)?.[1]);
    if (accepted !== Math.min(all, first + FILE_EVENTS) - first)
      throw new Error(`Cannot go on: not all events were stored: ${printed}`);
  }
  return all;
}

/** Events of one file. */
const FILE_EVENTS = 50_000_000;

/** Writes events at an even rate, each of any subscription and of one of its 40 users. */
async function writeEvents(
  file: string,
  { first, end, from_ms, interval_ms }: { first: number; end: number; from_ms: number; interval_ms: number },
): Promise<void> {
  const instance = await DuckDBInstance.create(":memory:", ENGINE);
  const connection = await instance.connect();
  try {
    await connection.run(`COPY (
      WITH made AS (
        SELECT i, (hash(i) % ${SUBSCRIPTIONS})::BIGINT AS one, hash(i + 1) AS random
        FROM range(${first}, ${end}) AS numbers(i))
      SELECT uuid() AS id, 'subscription-' || one AS external_subscription_id,
        (${from_ms} + i * ${interval_ms})::BIGINT AS timestamp, 1::DECIMAL(18,6) AS usage,
        '{"model":"' || ['small', 'large', 'code'][1 + (random % 3)::INTEGER]
          || '","user":"' || one || '-' || (random // 3) % 40
          || '","input":' || 100 + (random // 120) % 4000 || ',"cached":' || (random // 480_000) % 100
          || ',"output":' || 10 + (random // 48_000_000) % 1000
          || ',"status":' || if(random % 50 = 0, 500, 200) || '}' AS metadata
      FROM made) TO '${file}' (FORMAT parquet)`);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
