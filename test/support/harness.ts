import { afterAll, beforeAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Deps } from "../../src/app/deps.ts";
import { call } from "../../src/app/operation.ts";
import type { Role } from "../../src/core/access.ts";
import { readConfig } from "../../src/core/config.ts";
import type { ReadDisk } from "../../src/core/disk_reserve.ts";
import type { ReadClocks } from "../../src/core/guarded_clock.ts";
import { VERSION } from "../../src/core/version.ts";
import type { Clock } from "../../src/core/time.ts";
import { usageLaneTable } from "../../src/usage/lanes/tables.ts";
import { openDeps } from "../../src/server/open_deps.ts";
import { saveSeen } from "../../src/server/instances/queries.ts";
import { addCompany } from "../../src/billing/companies/service.ts";
import type { PasswordCost } from "../../src/core/passwords.ts";
import { listen, type Server } from "../../src/server/listen.ts";
import { freePort } from "./free_port.ts";
import { type Front, openFront } from "./front.ts";
import { CHEAP } from "./password_cost.ts";
import { testPostgres } from "./postgres.ts";
import type { Queries, Store } from "../../src/store/store.ts";
import { makeSharedStores } from "./shared_stores.ts";
import { copyMigrated } from "./sqlite.ts";

/** Which transactional store this run tests: TEST_STORE=sqlite (the default) or postgres. */
export const TEST_STORE = process.env.TEST_STORE ?? "sqlite";

/**
 * How many instances a service is, on PostgreSQL, ClickHouse and a bucket: behind one address, whose requests go to one
 * after the other.
 */
export const INSTANCES = Number(process.env.TEST_INSTANCES ?? 1);

/** Who may read /metrics. */
const METRICS_TOKEN = "the metrics token of tests, which no one has".replaceAll(" ", "-");

export const PASSWORD = "correct horse battery";

// biome-ignore lint: answers are read as the test expects them
export type Json = ReturnType<typeof JSON.parse>;

export interface Answer {
  status: number;
  body: Json;
  headers: Headers;
}

/** Sends one request; `body` is JSON unless it is text. */
export type Api = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Answer>;

/** A company with its admin signed in. */
export interface Tenant {
  company_id: number;
  admin_email: string;
  api: Api;
}

/** A clock that stands still until it is moved. */
export class TestClock implements Clock {
  #now: Temporal.Instant;
  constructor(now: string) {
    this.#now = Temporal.Instant.from(now);
  }
  now(): Temporal.Instant {
    return this.#now;
  }
  set(now: string): void {
    this.#now = Temporal.Instant.from(now);
  }
}

/** The whole service on temporary stores, listening on a free port. */
export interface Service extends Tenant {
  deps: Deps;
  /** What each instance works with: `deps` is the first one's, and mostly the only one's. */
  instances: readonly Deps[];
  url: string;
  /** Calls without a token. */
  anonymous: Api;
  signIn(email: string, password?: string): Promise<Api>;
  addTenant(options?: { timezone?: string; currency?: string }): Promise<Tenant>;
  /** Adds a user to a tenant and signs it in. */
  addUser(tenant: Tenant, role: Role, client_id?: number): Promise<Api>;
  stop(): Promise<void>;
}

export interface ServiceOptions {
  clock?: Clock;
  /** The clocks of the machine, for a service that watches them. */
  machine_clocks?: ReadClocks;
  /** What is read of the disk. */
  disk?: ReadDisk;
  /** What a password's hash takes: next to nothing, unless sign-in itself is tested. */
  password_cost?: PasswordCost;
  env?: Record<string, string>;
  timezone?: string;
  currency?: string;
}

/** The numbers of the process, as Prometheus reads them. */
export function readMetrics(service: Pick<Service, "anonymous">): Promise<Answer> {
  return service.anonymous("GET", "origin:/metrics", undefined, { authorization: `Bearer ${METRICS_TOKEN}` });
}

/** The numbers of each process. */
export async function readAllMetrics(service: Pick<Service, "anonymous">): Promise<string> {
  const texts: string[] = [];
  while (texts.length < INSTANCES) texts.push((await readMetrics(service)).body);
  return texts.join("\n");
}

/** A service for the tests of a file: it starts before them and stops after them. */
export function useService(options: ServiceOptions = {}): Service {
  let started: Service | undefined;
  const service = (): Service => {
    if (started === undefined) throw new Error("The service starts before the first test, not before that");
    return started;
  };
  beforeAll(async () => {
    started = await startService(options);
  });
  afterAll(async () => {
    await started?.stop();
    // The file's functions live as long as the process, and all files of a process would keep their services in memory.
    started = undefined;
  });
  return {
    get company_id() {
      return service().company_id;
    },
    get admin_email() {
      return service().admin_email;
    },
    get deps() {
      return service().deps;
    },
    get instances() {
      return service().instances;
    },
    get url() {
      return service().url;
    },
    api: (...request) => service().api(...request),
    anonymous: (...request) => service().anonymous(...request),
    signIn: (...user) => service().signIn(...user),
    addTenant: (...place) => service().addTenant(...place),
    addUser: (...user) => service().addUser(...user),
    stop: () => service().stop(),
  };
}

/** Starts the service; stop it after the tests. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const { folder, settings, front } = await makePlace(options.env);
  const instances = await startInstances(settings, options);
  const [{ deps, server }] = instances;
  const { url } = front ?? server;
  const anonymous = apiOf(url, {});
  let emails = 0;

  const signIn = async (email: string, password = PASSWORD): Promise<Api> => {
    const { status, body } = await anonymous("POST", "/login", { email, password });
    if (status !== 200) throw new Error(`Cannot sign ${email} in: ${status} ${JSON.stringify(body)}`);
    return apiOf(url, { authorization: `Bearer ${body.token}` });
  };
  const addTenant: Service["addTenant"] = async (place = {}) => {
    const admin_email = `admin${++emails}@example.com`;
    const ctx = deps.openContext({
      actor: { kind: "operator" },
      origin: "cli",
      request_id: "test",
      address: null,
    });
    const input = { name: `Company ${emails}`, admin_email, admin_password: PASSWORD, ...place };
    const { id } = await call(ctx, addCompany, input);
    return { company_id: id, admin_email, api: await signIn(admin_email) };
  };
  const { timezone, currency } = options;
  const first = await addTenant({ ...(timezone ? { timezone } : {}), ...(currency ? { currency } : {}) });
  return {
    ...first,
    deps,
    instances: instances.map((instance) => instance.deps),
    url,
    anonymous,
    signIn,
    addTenant,
    async addUser(tenant, role, client_id) {
      const email = `user${++emails}@example.com`;
      const user = { email, password: PASSWORD, role, ...(client_id === undefined ? {} : { client_id }) };
      const { status, body } = await tenant.api("POST", "/users", user);
      if (status !== 201) throw new Error(`Cannot add ${email}: ${status} ${JSON.stringify(body)}`);
      return signIn(email);
    },
    async stop() {
      for (const instance of instances.toReversed()) {
        await instance.server.stop();
        await instance.deps.close();
      }
      await front?.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface RunningInstance {
  deps: Deps;
  server: Server;
}

/** Starts one with each of the settings. */
async function startInstances(
  settings: readonly Record<string, string>[],
  options: ServiceOptions,
): Promise<[RunningInstance, ...RunningInstance[]]> {
  const opened: Deps[] = [];
  for (const env of settings) opened.push(await openInstance(env, options));
  // They know one another from the start, not only when each looks again.
  for (const { store, instances } of opened) {
    const { id, url } = instances;
    if (url !== null) await store.tx((q) => saveSeen(q, { id, url, version: VERSION.version }));
  }
  const [first, ...others] = opened as [Deps, ...Deps[]];
  const running: [RunningInstance] = [{ deps: first, server: await listen(first) }];
  for (const deps of others) running.push({ deps, server: await listen(deps) });
  if (others.length > 0) await shareLanes(first, opened.length);
  return running;
}

/** Resolves when each of so many instances owns a lane, and all have seen who owns which: later none is moved. */
async function shareLanes({ store }: Deps, count: number): Promise<void> {
  for (;;) {
    const t = store.read.use(usageLaneTable);
    const lanes = await store.read.select({ owner: t.owner_id }).from(t);
    if (new Set(lanes.flatMap(({ owner }) => owner ?? [])).size >= count) break;
    await Bun.sleep(50);
  }
  await Bun.sleep(SEEN_MS);
}

/** Within this time each instance looks at who owns the lanes. */
const SEEN_MS = 700;

function openInstance(
  env: Record<string, string>,
  { clock, machine_clocks, disk, password_cost = CHEAP }: ServiceOptions,
): Promise<Deps> {
  return openDeps(readConfig(env), {
    password_cost,
    metrics_age_ms: 0,
    serves: INSTANCES > 1,
    ...(clock && { clock }),
    ...(machine_clocks && { machine_clocks }),
    ...(disk && { disk }),
  });
}

/** New stores in a folder, the settings of each instance that shares them, and what is in front of several. */
async function makePlace(
  own: Record<string, string> = {},
): Promise<{ folder: string; settings: Record<string, string>[]; front?: Front }> {
  const folder = mkdtempSync(join(tmpdir(), "meterhouse-"));
  const shared: Record<string, string> = {
    HOST: "127.0.0.1",
    LOG_LEVEL: "fatal",
    RATE_LIMIT_ENABLED: "false",
    USAGE_MEMORY_LIMIT: "512MB",
    METRICS_TOKEN,
    DISK_RESERVE: "0",
  };
  if (TEST_STORE === "postgres") shared.DATABASE_URL = await (await testPostgres()).createMigrated();
  else await copyMigrated(join(folder, "meterhouse.sqlite"));
  if (INSTANCES === 1) return { folder, settings: [{ ...shared, DATA_DIR: folder, PORT: "0", ...own }] };
  const ports: number[] = [];
  while (ports.length < INSTANCES) ports.push(await freePort());
  const front = await openFront(ports);
  Object.assign(shared, await makeSharedStores(), { PUBLIC_URL: front.url });
  const settings = ports.map((port) => ({
    ...shared,
    DATA_DIR: join(folder, String(port)),
    PORT: String(port),
    INSTANCE_URL: `http://127.0.0.1:${port}`,
    ...own,
  }));
  return { folder, settings, front };
}

/** A client of the REST interface at an origin. */
export function apiOf(origin: string, common: Record<string, string>): Api {
  return async (method, path, body, headers = {}) => {
    const sent = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
    const type: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
    const base = path.startsWith("/")
      ? `${origin}/api/v1${path}`
      : `${origin}/${path.replace(/^origin:\/?/, "")}`;
    const response = await fetch(base, {
      method,
      ...sent,
      headers: { ...type, ...common, ...headers },
      redirect: "manual",
    });
    const text = await response.text();
    const isJson = /\bjson\b/.test(response.headers.get("content-type") ?? "");
    return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers };
  };
}

type Totals = Service["deps"]["usage"]["totals"];

/** Stands between every instance and its transactions; what it returns ends it. */
export function interceptTx(
  { instances }: Pick<Service, "instances">,
  through: <T>(tx: Store["tx"], work: (q: Queries) => Promise<T>) => Promise<T>,
): () => void {
  const stores = instances.map(({ store }) => ({ store, tx: store.tx.bind(store) }));
  for (const { store, tx } of stores) store.tx = (work) => through(tx, work);
  return () => {
    for (const { store, tx } of stores) store.tx = tx;
  };
}

/** Stands between every instance and its usage store when it is asked for totals; what it returns ends it. */
export function interceptTotals(
  { instances }: Pick<Service, "instances">,
  through: (count: Totals, ...question: Parameters<Totals>) => ReturnType<Totals>,
): () => void {
  const stores = instances.map(({ usage }) => ({ usage, count: usage.totals.bind(usage) }));
  for (const { usage, count } of stores) usage.totals = (...question) => through(count, ...question);
  return () => {
    for (const { usage, count } of stores) usage.totals = count;
  };
}
