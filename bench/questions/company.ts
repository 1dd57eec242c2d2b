import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import type { Progress } from "../bench.ts";
import { MODELS } from "../billing/month.ts";
import { watchRun } from "../billing/month_close.ts";
import type { Cleanup } from "../cleanup.ts";
import { addCompanies } from "../companies.ts";
import { Company, Created } from "../company.ts";
import { pastHourlyRun } from "../hourly_run.ts";
import { inParallel } from "../in_parallel.ts";
import { runProcess } from "../processes.ts";
import { PASSWORD, Service } from "../service.ts";
import { shaped } from "../shape.ts";

export const ZONE = "Europe/Berlin";
export const SUBSCRIPTIONS = 1_000;
const CLIENTS = 100;
const PRODUCTS = 8;
/** Closed months, each with a bill of every subscription; the running month has usage too. */
const MONTHS = 12;
/** One in ten has changed its plan. */
const changesPlan = (i: number) => i % 10 === 7;

const Whole = Type.Integer({ minimum: 0 });

const Manifest = Type.Object({
  events: Whole,
  company_id: Whole,
  admin_email: Type.String(),
  client_email: Type.String(),
  /** Whether everything is stored and billed. */
  is_whole: Type.Boolean(),
  from_ms: Whole,
  until_ms: Whole,
  subscriptions: Type.Array(
    Type.Object({
      id: Whole,
      external_subscription_id: Type.String(),
      client_id: Whole,
      product_id: Whole,
      billing_model_id: Whole,
    }),
  ),
});
/** A company of a year: what the questions are asked of. */
export type Manifest = Static<typeof Manifest>;

export const dataDir = (folder: string) => join(folder, "data");
const manifestFile = (folder: string) => join(folder, "questions.json");

/** The company, and the service that answers for it. */
export interface AskedCompany {
  manifest: Manifest;
  service: Service;
  admin: Company;
  /** A user of the first client. */
  client: Company;
}

/** Makes a company with so many events, in `keep` or in a folder that is deleted at the end, or opens the one in `keep`. */
export async function openAskedCompany(
  cleanup: Cleanup,
  events: number,
  { keep, progress }: { keep: string | undefined; progress: Progress },
): Promise<AskedCompany> {
  const folder = keep ?? cleanup.folder();
  if (!existsSync(manifestFile(folder))) await make(cleanup, folder, events, progress);
  const manifest = readManifest(folder);
  if (!manifest.is_whole || manifest.events !== events)
    throw new Error(`Cannot use ${folder}: it does not hold ${events} events that are stored and billed`);
  const service = new Service(cleanup, dataDir(folder));
  progress("starting the service, and waiting until it has put its store in order");
  await service.start();
  await service.rest();
  const [admin, client] = [manifest.admin_email, manifest.client_email].map(
    (email) => new Company(service, manifest.company_id, email),
  );
  if (!admin || !client) throw new Error("Cannot go on without users");
  await Promise.all([admin.signIn(), client.signIn()]);
  admin.subscriptions = manifest.subscriptions;
  return { manifest, service, admin, client };
}

export function readManifest(folder: string): Manifest {
  const read: unknown = JSON.parse(readFileSync(manifestFile(folder), "utf8"));
  return shaped(Manifest, read, manifestFile(folder));
}

async function make(cleanup: Cleanup, folder: string, events: number, progress: Progress): Promise<void> {
  if (existsSync(dataDir(folder))) throw new Error(`Cannot use ${folder}: it holds data of something else`);
  mkdirSync(dataDir(folder), { recursive: true });
  const [added] = await addCompanies(dataDir(folder), ["questions"], ZONE);
  if (added === undefined) throw new Error("Cannot go on without a company");
  const service = new Service(cleanup, dataDir(folder));
  await service.start();
  const admin = new Company(service, added.id, added.email);
  await admin.signIn();
  progress(`making ${SUBSCRIPTIONS.toLocaleString("en-US")} subscriptions`);
  const now = Temporal.Now.zonedDateTimeISO(ZONE);
  const from = now.with({ day: 1 }).startOfDay().subtract({ months: MONTHS });
  const records = await makeRecords(admin, from.toInstant().toString());
  await service.stop();
  const manifest: Manifest = {
    events,
    company_id: added.id,
    admin_email: added.email,
    is_whole: false,
    from_ms: from.epochMilliseconds,
    until_ms: now.epochMilliseconds,
    ...records,
  };
  const save = () => writeFileSync(manifestFile(folder), JSON.stringify(manifest));
  save();
  progress(`storing ${events.toLocaleString("en-US")} events`);
  // In a process of its own: what its stored ids take of memory goes with it.
  await runProcess(cleanup, ["bench/main.ts", "--store-asked", folder], {});
  await pastHourlyRun(events, progress);
  await service.start();
  await admin.signIn();
  progress(`billing ${MONTHS} months`);
  await watchRun(admin, { month: undefined, periods: SUBSCRIPTIONS * MONTHS });
  await service.stop();
  manifest.is_whole = true;
  save();
}

async function makeRecords(
  company: Company,
  started_at: string,
): Promise<Pick<Manifest, "subscriptions" | "client_email">> {
  const create = async (path: string, body: unknown) =>
    (await company.fetchJson(Created, "POST", path, body)).data.id;
  const clients = await inParallel(CLIENTS, (i) => create("/clients", { name: `Client ${i}` }));
  const products = await inParallel(PRODUCTS, (i) => create("/products", { name: `Product ${i}` }));
  const models = await inParallel(MODELS.length, (i) =>
    create("/billing-models", {
      name: `Plan ${i}`,
      currency: i % 3 === 0 ? "EUR" : "USD",
      description: "",
      ...MODELS[i],
    }),
  );
  const more_credits = { ...MODELS.at(-1), name: "Plan with more credits", price: 90, currency: "USD" };
  const bigger = await create("/billing-models", {
    ...more_credits,
    description: "",
    credit_plan: { monthly_credits: 60_000, credit_consumption: "per_unit", overage_rate: "0.002" },
  });
  const self_service = { upgrade: true, downgrade: true, cancel: "period_end", plans: [bigger] };
  const settings = { name: "A year of usage", timezone: ZONE, currency: "USD", self_service };
  await company.fetchJson(Type.Object({ data: Type.Unknown() }), "PUT", "/company", settings);
  const client_email = "client@example.com";
  await create("/users", { email: client_email, password: PASSWORD, role: "client", client_id: clients[0] });
  const subscriptions = await inParallel(SUBSCRIPTIONS, async (i) => {
    const one = {
      external_subscription_id: `subscription-${i}`,
      client_id: clients[i % CLIENTS] ?? 0,
      product_id: products[i % PRODUCTS] ?? 0,
      billing_model_id: models[i % models.length] ?? 0,
    };
    const id = await create("/subscriptions", { name: `Subscription ${i}`, ...one, started_at });
    return { id, ...one };
  });
  for (const [i, one] of subscriptions.entries()) {
    if (!changesPlan(i)) continue;
    // Of the same currency: the third after it.
    const new_billing_model_id = models[(i + 3) % models.length] ?? 0;
    const effective_at = Temporal.Instant.from(started_at)
      .add({ hours: 24 * 40 + 9 })
      .toString();
    await create(`/subscriptions/${one.id}/billing-model-changes`, { new_billing_model_id, effective_at });
    one.billing_model_id = new_billing_model_id;
  }
  return { subscriptions, client_email };
}
