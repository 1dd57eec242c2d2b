import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Deps } from "../../src/app/deps.ts";
import { readConfig } from "../../src/core/config.ts";
import { openDeps } from "../../src/server/open_deps.ts";
import { type Borrowing, openBorrowing } from "../loans/documents/fixtures.ts";
import { type Dice, dice } from "../support/dice.ts";
import { freePort } from "../support/free_port.ts";
import { type Api, apiOf, type Json } from "../support/harness.ts";
import {
  type CommandFolder,
  makePreparedFolder,
  type ServerProcess,
  startServer,
} from "../support/process.ts";
import { addWebhook, openReceiver, type Receiver } from "../support/webhook_receiver.ts";
import { UsageLedger } from "./usage_ledger.ts";

const SUBSCRIPTIONS = 12;

/** A deployment that is killed again and again, and what is known of it outside of it. */
export interface World {
  readonly place: CommandFolder;
  readonly env: Record<string, string>;
  readonly roll: Dice;
  /** By its admin, whichever process serves. */
  readonly api: Api;
  readonly receiver: Receiver;
  readonly borrowing: Borrowing;
  readonly usage: UsageLedger;
  /** External ids of the subscriptions, and their ids. */
  readonly keys: readonly string[];
  readonly subscription_ids: readonly number[];
  readonly models: readonly number[];
  /** The database beside the server, for what no request does. */
  readonly deps: Deps;
  /** The scheme's record of debits. */
  readonly sent_file: string;
  /** Events before the endpoint was there. */
  readonly events_before: number;
  server: ServerProcess;
}

/** Starts it on its own port, which stays. Takes until it listens, in ms. */
export async function startWorld(env: Record<string, string>): Promise<ServerProcess> {
  return startServer(env, undefined, "test/chaos/recording_server.ts");
}

/** A fresh deployment with a company's records. */
export async function openWorld(seed: number): Promise<World> {
  const place = await makePreparedFolder();
  const sent_file = join(place.data_dir, "sent_debits");
  writeFileSync(sent_file, "");
  const port = await freePort();
  const env = {
    ...place.env,
    PORT: String(port),
    NODE_ENV: "test",
    RATE_LIMIT_ENABLED: "false",
    LOG_LEVEL: "error",
    SENT_DEBITS: sent_file,
    BACKUP_URL: `file://${join(place.data_dir, "backups")}`,
    USAGE_MEMORY_LIMIT: "512MB",
  };
  const server = await startWorld(env);
  const { url } = server;
  const api = await server.signIn();
  const create = async (path: string, body: Json): Promise<number> => {
    const { status, body: answer } = await api("POST", path, body);
    if (status !== 201) throw new Error(`POST ${path}: ${status} ${JSON.stringify(answer)}`);
    return answer.data.id;
  };
  const client_id = await create("/clients", { name: "Client" });
  const product_id = await create("/products", { name: "Product" });
  const model = { currency: "EUR", description: "" };
  const models = [
    await create("/billing-models", {
      ...model,
      name: "Per unit",
      billing_type_id: 2,
      price: 0.35,
      free_units: "20",
    }),
    await create("/billing-models", { ...model, name: "Flat", billing_type_id: 1, price: 31 }),
    await create("/billing-models", {
      ...model,
      name: "Package",
      billing_type_id: 5,
      price: 7,
      package_size: "50",
      recurring_fee: "4",
    }),
  ];
  const keys = Array.from({ length: SUBSCRIPTIONS }, (_, i) => `chaos-${i}`);
  const started_at = Temporal.Now.instant()
    .subtract({ hours: 24 * 75 })
    .toString({ smallestUnit: "millisecond" });
  const subscription_ids: number[] = [];
  for (const [i, external_subscription_id] of keys.entries()) {
    const ids = {
      client_id,
      product_id,
      billing_model_id: models[i % models.length],
      external_subscription_id,
    };
    subscription_ids.push(await create("/subscriptions", { name: `Subscription ${i}`, started_at, ...ids }));
  }
  const receiver = openReceiver();
  const events_before = (await api("GET", "/events?limit=1")).body.meta.total;
  await addWebhook(api, receiver.url);
  const anonymous = apiOf(url, {});
  const tenant = { url, anonymous, api, company_id: 1, admin_email: "admin@example.com" };
  const deps = await openDeps(readConfig({ ...place.env, LOG_LEVEL: "fatal" }), { without_usage: true });
  const base = {
    place,
    env,
    roll: dice(seed),
    api,
    receiver,
    keys,
    subscription_ids,
    models,
    deps,
    sent_file,
    events_before,
    server,
  };
  const world: World = Object.assign(base, {
    borrowing: await openBorrowing(tenant),
    usage: undefined as unknown as UsageLedger,
  });
  return Object.assign(world, { usage: new UsageLedger(world) });
}

export async function closeWorld(world: World): Promise<void> {
  world.server.kill("SIGKILL");
  await world.server.exited;
  await world.deps.close();
  await world.receiver.stop();
}
