import { Database } from "bun:sqlite";
import { join } from "node:path";
import { startBare } from "./bare_server.ts";
import type { Cleanup } from "./cleanup.ts";
import { repeat, runLoad } from "./load.ts";
import { takeTurns } from "./plan.ts";
import { PASSWORD } from "./service.ts";
import type { Bench, BenchContext } from "./bench.ts";
import { type Measured, measured } from "./stats.ts";
import { type Finding, rateFinding } from "./finding.ts";

const CONNECTIONS = 32;
const SIGN_IN_CONNECTIONS = 8;

/** The least ratios to the peers. */
const SIGN_IN_GOAL = 1;
const READ_GOAL = 0.25;
const CREATE_GOAL = 1;

/** Sign-ins, against checking the same kind of password hash in this process. */
export const signIn: Bench = {
  name: "sign-in",
  summary: "POST /login against Bun.password.verify with the same parameters",
  needs_events: false,
  async run({ plan, company }) {
    const hash = await Bun.password.hash(PASSWORD, {
      algorithm: "argon2id",
      memoryCost: 19_456,
      timeCost: 2,
    });
    const request = company.signInRequest();
    const { subject, peer } = await takeTurns(plan, {
      peer: () => runInProcess(SIGN_IN_CONNECTIONS, plan.seconds, () => Bun.password.verify(PASSWORD, hash)),
      subject: () =>
        runLoad({
          origin: company.origin,
          connections: SIGN_IN_CONNECTIONS,
          requests: repeat(request),
          status: 200,
          seconds: plan.seconds,
        }),
    });
    const named = { name: "Bun.password.verify in-process", median: peer };
    const what = `sign-in, ${SIGN_IN_CONNECTIONS} connections`;
    return [rateFinding(what, plan.events, { unit: "req", subject, peer: named, least: SIGN_IN_GOAL })];
  },
};

/** A client without subscriptions: the smallest record there is. */
export const getClient: Bench = {
  name: "get",
  summary: "GET one client against a bare Elysia route that answers the same",
  needs_events: false,
  run: (context) => read(context, "GET one client", "/clients/1"),
};

export const listSubscriptions: Bench = {
  name: "list",
  summary: "GET 50 subscriptions with their relations against a bare Elysia route that answers the same",
  needs_events: false,
  run: (context) => read(context, "list 50 subscriptions with relations", "/subscriptions"),
};

/** New clients, against the same insert in this process, one durable commit each. */
export const createClient: Bench = {
  name: "post",
  summary: "POST one client against the same insert into SQLite, synchronous = FULL",
  needs_events: false,
  async run({ plan, company, cleanup }) {
    const insert = openInsert(cleanup);
    const request = company.request("POST", "/clients", { name: "A new client" });
    const { subject, peer } = await takeTurns(plan, {
      peer: () => runInProcess(1, plan.seconds, async () => insert()),
      subject: () =>
        runLoad({
          origin: company.origin,
          connections: CONNECTIONS,
          requests: repeat(request),
          status: 201,
          seconds: plan.seconds,
        }),
    });
    const named = { name: "the same SQL in-process, one commit each", median: peer };
    const what = `POST one client, ${CONNECTIONS} connections`;
    return [rateFinding(what, plan.events, { unit: "req", subject, peer: named, least: CREATE_GOAL })];
  },
};

async function read(
  { plan, company, cleanup }: BenchContext,
  what: string,
  path: string,
): Promise<Finding[]> {
  const request = company.request("GET", path);
  const bare = await startBare(cleanup, company.origin, { request });

  const common = { connections: CONNECTIONS, status: 200, seconds: plan.seconds };
  const { subject, peer } = await takeTurns(plan, {
    peer: () => runLoad({ ...common, origin: bare.origin, requests: repeat(bare.request) }),
    subject: () => runLoad({ ...common, origin: company.origin, requests: repeat(request) }),
  });
  await bare.stop();
  const named = { name: bare.name, median: peer };
  const line = `${what}, ${CONNECTIONS} connections`;
  return [rateFinding(line, plan.events, { unit: "req", subject, peer: named, least: READ_GOAL })];
}

/** Repeats a call for some time, a number of them at once. */
async function runInProcess(
  at_once: number,
  seconds: number,
  work: () => Promise<unknown>,
): Promise<Measured> {
  const latencies_ms: number[] = [];
  const started = performance.now();
  const deadline = started + seconds * 1_000;
  await Promise.all(
    Array.from({ length: at_once }, async () => {
      while (performance.now() < deadline) {
        const before = performance.now();
        await work();
        latencies_ms.push(performance.now() - before);
      }
    }),
  );
  return measured(latencies_ms.length, performance.now() - started, latencies_ms);
}

/** A table like the service's own, on the same settings, and its insert. */
function openInsert(cleanup: Cleanup): () => void {
  const database = new Database(join(cleanup.folder(), "peer.sqlite"));
  cleanup.add(() => database.close());
  database.run("PRAGMA journal_mode = WAL");
  database.run("PRAGMA synchronous = FULL");
  database.run(`CREATE TABLE clients (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
    company_id INTEGER NOT NULL, deleted_at TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL)`);
  database.run("CREATE INDEX clients_company ON clients (company_id, id)");
  const insert = database.query(`INSERT INTO clients (name, company_id, created_at, updated_at)
    VALUES (?, ?, ?, ?) RETURNING id, name, company_id, created_at, updated_at`);
  return () => {
    const now = Temporal.Now.instant().toString({ smallestUnit: "millisecond" });
    database.run("BEGIN IMMEDIATE");
    insert.get("A new client", 1, now, now);
    database.run("COMMIT");
  };
}
