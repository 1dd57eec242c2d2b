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
import type { Clock } from "../../src/core/time.ts";
import { openDeps } from "../../src/server/open_deps.ts";
import { addCompany } from "../../src/billing/companies/service.ts";
import type { PasswordCost } from "../../src/core/passwords.ts";
import { listen, type Server } from "../../src/server/listen.ts";
import { freePort } from "./free_port.ts";
import { CHEAP } from "./password_cost.ts";
import { testPostgres } from "./postgres.ts";
import { makeSharedStores } from "./shared_stores.ts";
import { copyMigrated } from "./sqlite.ts";

/** Which transactional store this run tests: TEST_STORE=sqlite (the default) or postgres. */
export const TEST_STORE = process.env.TEST_STORE ?? "sqlite";

/** How many instances a service is, on PostgreSQL, ClickHouse and a bucket; its requests go to one after the other. */
const INSTANCES = Number(process.env.TEST_INSTANCES ?? 1);

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
  const { folder, settings } = await makePlace(options.env);
  const instances: { deps: Deps; server: Server }[] = [];
  for (const env of settings) instances.push(await startInstance(env, options));
  const [{ deps, server }] = instances as [(typeof instances)[number]];
  const urls = instances.map((instance) => instance.server.url);
  const anonymous = apiOf(urls, {});
  let emails = 0;

  const signIn = async (email: string, password = PASSWORD): Promise<Api> => {
    const { status, body } = await anonymous("POST", "/login", { email, password });
    if (status !== 200) throw new Error(`Cannot sign ${email} in: ${status} ${JSON.stringify(body)}`);
    return apiOf(urls, { authorization: `Bearer ${body.token}` });
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
    url: server.url,
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
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startInstance(
  env: Record<string, string>,
  { clock, machine_clocks, disk, password_cost = CHEAP }: ServiceOptions,
): Promise<{ deps: Deps; server: Server }> {
  const deps = await openDeps(readConfig(env), {
    password_cost,
    metrics_age_ms: 0,
    serves: INSTANCES > 1,
    ...(clock && { clock }),
    ...(machine_clocks && { machine_clocks }),
    ...(disk && { disk }),
  });
  return { deps, server: await listen(deps) };
}

/** New stores in a folder, and the settings of each instance that shares them. */
async function makePlace(
  own: Record<string, string> = {},
): Promise<{ folder: string; settings: Record<string, string>[] }> {
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
  Object.assign(shared, await makeSharedStores());
  const settings: Record<string, string>[] = [];
  for (let i = 0; i < INSTANCES; i++) {
    const PORT = String(await freePort());
    const INSTANCE_URL = `http://127.0.0.1:${PORT}`;
    settings.push({ ...shared, DATA_DIR: join(folder, String(i)), PORT, INSTANCE_URL, ...own });
  }
  return { folder, settings };
}

/** A client of the REST interface at an origin, or at several, one after the other. */
export function apiOf(origins: string | readonly string[], common: Record<string, string>): Api {
  const all = [origins].flat();
  let requests = 0;
  return async (method, path, body, headers = {}) => {
    const origin = all[requests++ % all.length];
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
