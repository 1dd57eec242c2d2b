import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { DuckDBInstance } from "@duckdb/node-api";
import type { Cleanup } from "../cleanup.ts";
import { Company, Created } from "../company.ts";
import { inParallel } from "../in_parallel.ts";
import { runProcess } from "../processes.ts";
import { ENGINE } from "../raw_usage.ts";
import { FIRST_EMAIL, Service } from "../service.ts";
import { shaped } from "../shape.ts";
import { lastMonths, startOnCopy } from "../unbilled.ts";
import type { Progress } from "../bench.ts";

const CLIENTS = 40;
const PRODUCTS = 6;
/** As many as the issue's: 10,000 subscriptions with 10 million events. */
const EVENTS_PER_SUBSCRIPTION = 1_000;

/** One in ten changes its plan inside the month, another one starts inside it. */
const changesPlan = (i: number) => i % 10 === 7;
const daysLate = (i: number) => (i % 10 === 3 ? 5 + (Math.floor(i / 10) % 20) : 0);

/** A model of each billing type. */
export const MODELS = [
  { billing_type_id: 1, price: 31 },
  { billing_type_id: 2, price: 0.002, recurring_fee: "5", free_units: "100", minimum_charge: "1" },
  {
    billing_type_id: 3,
    price: 9,
    usage_tiers: [
      { up_to: "1000", unit_price: "0.01", flat_fee: "2" },
      { up_to: "20000", unit_price: "0.005" },
      { up_to: null, unit_price: "0.001" },
    ],
  },
  {
    billing_type_id: 4,
    price: 9,
    usage_tiers: [
      { up_to: "10000", unit_price: "0.01" },
      { up_to: null, unit_price: "0.004", flat_fee: "10" },
    ],
  },
  { billing_type_id: 5, price: 3, package_size: "1000", free_units: "500" },
  {
    billing_type_id: 6,
    price: 50,
    credit_plan: { monthly_credits: 20_000, credit_consumption: "per_unit", overage_rate: "0.002" },
  },
];

const Month = Type.Object({
  events: Type.Integer(),
  subscriptions: Type.Integer(),
  /** "2026-10" */
  name: Type.String(),
  from: Type.String(),
  to: Type.String(),
});

/** A company's last month, ready to be billed. */
export type Month = Static<typeof Month>;

const dataDir = (folder: string) => join(folder, "data");
const monthFile = (folder: string) => join(folder, "month.json");

/** Makes a month with so many events, in `keep` or in a folder that is deleted at the end, or opens the one in `keep`. */
export async function openMonth(
  cleanup: Cleanup,
  events: number,
  { keep, progress }: { keep: string | undefined; progress: Progress },
): Promise<{ month: Month; service: Service; company: Company }> {
  const folder = keep ?? cleanup.folder();
  if (!existsSync(monthFile(folder))) await makeMonth(cleanup, folder, events, progress);
  const read: unknown = JSON.parse(readFileSync(monthFile(folder), "utf8"));
  const month = shaped(Month, read, monthFile(folder));
  if (month.events !== events)
    throw new Error(`Cannot use ${folder}: it holds ${month.events} events, not ${events}`);
  const service = await startOnCopy(cleanup, dataDir(folder), events, progress);
  const company = new Company(service, 1, FIRST_EMAIL);
  await company.signIn();
  return { month, service, company };
}

async function makeMonth(
  cleanup: Cleanup,
  folder: string,
  events: number,
  progress: Progress,
): Promise<void> {
  if (existsSync(dataDir(folder))) throw new Error(`Cannot use ${folder}: it holds data of something else`);
  mkdirSync(dataDir(folder), { recursive: true });
  const subscriptions = Math.ceil(events / EVENTS_PER_SUBSCRIPTION);
  const {
    names: [name = ""],
    ...bounds
  } = lastMonths(1);
  const month: Month = { events, subscriptions, name, ...bounds };
  const service = new Service(cleanup, dataDir(folder));
  await service.start();
  const company = new Company(service, 1, FIRST_EMAIL);
  await company.signIn();
  progress(`making ${subscriptions.toLocaleString("en-US")} subscriptions`);
  await makeRecords(company, month);
  await service.stop();

  progress(`storing ${events.toLocaleString("en-US")} events`);
  const file = join(folder, "events.parquet");
  await writeEvents(month, file);
  const words = ["src/main.ts", "import", "usage", file, "--company", String(company.id)];
  const printed = await runProcess(cleanup, words, { DATA_DIR: dataDir(folder) });
  rmSync(file);
  const accepted = Number(/(\d+) accepted/.exec(printed)?.[1]);
  if (accepted !== events) throw new Error(`Cannot go on: of ${events} events these were stored: ${printed}`);
  writeFileSync(monthFile(folder), JSON.stringify(month));
}

async function makeRecords(company: Company, month: Month): Promise<void> {
  const create = async (path: string, body: unknown) =>
    (await company.fetchJson(Created, "POST", path, body)).data.id;
  const clients = await inParallel(CLIENTS, (i) => create("/clients", { name: `Client ${i}` }));
  const products = await inParallel(PRODUCTS, (i) => create("/products", { name: `Product ${i}` }));
  const models = await inParallel(MODELS.length, (i) =>
    create("/billing-models", { name: `Plan ${i}`, currency: "USD", description: "", ...MODELS[i] }),
  );
  const start = Temporal.Instant.from(month.from);
  await inParallel(month.subscriptions, async (i) => {
    const id = await create("/subscriptions", {
      name: `Subscription ${i}`,
      external_subscription_id: `subscription-${i}`,
      client_id: clients[i % CLIENTS],
      product_id: products[i % PRODUCTS],
      billing_model_id: models[i % models.length],
      started_at: start.add({ hours: 24 * daysLate(i) }).toString(),
    });
    if (!changesPlan(i)) return;
    await create(`/subscriptions/${id}/billing-model-changes`, {
      new_billing_model_id: models[(i + 1) % models.length],
      effective_at: start.add({ hours: 24 * 14 + 9 }).toString(),
    });
  });
}

/** Writes the month's events in the order of time, spread over the subscriptions that have started. */
async function writeEvents({ events, subscriptions, from, to }: Month, file: string): Promise<void> {
  const [from_ms, to_ms] = [from, to].map((text) => Temporal.Instant.from(text).epochMilliseconds);
  const days = Array.from({ length: subscriptions }, (_, i) => daysLate(i));
  const instance = await DuckDBInstance.create(":memory:", ENGINE);
  const connection = await instance.connect();
  try {
    await connection.run("SET preserve_insertion_order = false");
    // One whose time comes before its subscription's start is moved behind it.
    await connection.run(`COPY (
      WITH days AS (SELECT [${days.join(",")}] AS late),
      made AS (
        SELECT i, (hash(i) % ${subscriptions})::BIGINT AS one,
          ${from_ms} + ((${to_ms} - ${from_ms}) * i::HUGEINT // ${events})::BIGINT AS timestamp
        FROM range(${events}) AS numbers(i))
      SELECT uuid() AS id, 'subscription-' || one AS external_subscription_id,
        greatest(timestamp, ${from_ms} + late[one + 1] * 86400000::BIGINT + i % 86400000) AS timestamp,
        ((hash(i + 1) % 100000) / 1000)::DECIMAL(18,6) AS usage,
        '{"path":"/v1/orders","region":"eu-west-1","status":200,"trace":"' || i || '"}' AS metadata
      FROM made, days) TO '${file}' (FORMAT parquet)`);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
