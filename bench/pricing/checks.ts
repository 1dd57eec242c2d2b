import { Type } from "@sinclair/typebox";
import { startBare } from "../bare_server.ts";
import type { Progress, RunContext } from "../bench.ts";
import type { Company } from "../company.ts";
import type { Event } from "../events.ts";
import { atMost, type Finding, finding, figureOf, rateFinding } from "../finding.ts";
import { requestsOf } from "../ingest.ts";
import { runArrivals, runLoad } from "../load.ts";
import { type Plan, takeTurns } from "../plan.ts";
import type { Measured } from "../stats.ts";
import { latencyRatio, ms, spread } from "../table.ts";
import type { OpenMonths } from "./months.ts";
import { FEATURE } from "./plan.ts";
import { untilCertain } from "./starts.ts";

const CHECK_PATH = "/usage/check";
const CONNECTIONS = 8;
/** Checks a second that come whether or not those before are answered. */
const STEADY_PER_S = [1_000, 2_000];
const BESIDE = { per_s: 5_000, batch: 100, connections: 16 };
const INGEST = { batch: 100, connections: 32, least: 0.9 };
/** How often a check is asked right after an event was answered. */
const SEEN = 500;

/** The goals, and the events that they are set for. */
const GOALS = { check_ms: 5, reserve_ms: 15, at: 100_000_000 };

const Checked = Type.Object({ data: Type.Object({ used: Type.String(), certain: Type.Boolean() }) });
const Stored = Type.Object({ data: Type.Unknown() });

/** Checks beside ingest, with and without reservations, and what they see. */
export async function measureChecks(
  plan: Plan,
  { months: { events }, limited, service }: OpenMonths,
  { progress, cleanup }: RunContext,
): Promise<Finding[]> {
  const beside = `${CONNECTIONS} connections, while ${BESIDE.per_s.toLocaleString("en-US")} events/s come in`;
  const check = async (what: string, most: number, more: Record<string, unknown>, ask = askInTurn) => {
    progress(what);
    // Made beforehand, as the events are.
    const checks = checksOf(limited, more).map((body) => ({
      body,
      request: limited.request("POST", CHECK_PATH, body),
    }));
    const [first] = checks;
    if (first === undefined) throw new Error("Cannot go on: there is no subscription to check");
    const bare = await startBare(cleanup, limited.origin, first);
    const requests = checks.map(({ request }) => request);
    const { subject, peer } = await takeTurns(plan, {
      peer: () => besideIngest(plan, limited, (seconds) => ask(bare.origin, [bare.request], seconds)),
      subject: () => besideIngest(plan, limited, (seconds) => ask(limited.origin, requests, seconds)),
    });
    await bare.stop();
    return finding(what, events, {
      measured: tail(subject),
      latency: spread(subject),
      peer: `${tail(peer)}, ${bare.name}`,
      ratio: latencyRatio(subject.p99_ms, peer.p99_ms),
      goal: atMost(most, "ms", subject.p99_ms, GOALS.at),
      figures: [
        figureOf(subject, "p99_ms"),
        figureOf(subject, "p50_ms"),
        figureOf(subject, "per_s", "checks/s"),
      ],
      peers: [{ ...figureOf(peer, "p99_ms"), name: bare.name }],
    });
  };
  await untilCertain(service);
  const findings = [await check(`POST ${CHECK_PATH}, ${beside}`, GOALS.check_ms, {})];
  for (const per_s of STEADY_PER_S) {
    const what = `POST ${CHECK_PATH}, ${per_s.toLocaleString("en-US")} arriving a second, over ${beside}`;
    findings.push(await check(what, GOALS.check_ms, {}, askSteadily(per_s)));
  }
  findings.push(await check(`the first with a reservation, ${beside}`, GOALS.reserve_ms, { reserve_s: 5 }));
  return [...findings, await seen(events, limited, progress)];
}

/** `p99 3.10 ms (p50 0.40), 5,200 a second` */
function tail({ p50_ms, p99_ms, per_s }: Measured): string {
  return `p99 ${ms(p99_ms)} ms (p50 ${ms(p50_ms)}), ${Math.round(per_s).toLocaleString("en-US")} a second`;
}

/** How checks are asked: of one subscription after the other, for so many seconds. */
type Asking = (origin: string, asked: readonly Uint8Array[], seconds: number) => Promise<Measured>;

/** Each connection asks again when it is answered. */
const askInTurn: Asking = (origin, asked, seconds) =>
  runLoad({ origin, connections: CONNECTIONS, requests: endless(asked), status: 200, seconds });

/** So many a second, whether or not those before are answered, each measured from when it was due. */
const askSteadily =
  (per_s: number): Asking =>
  (origin, asked, seconds) => {
    const requests = endless(asked).take(Math.floor(per_s * seconds));
    return runArrivals({ origin, connections: CONNECTIONS, requests, status: 200, per_s });
  };

/** What is asked of a server, while events come in at the service. */
async function besideIngest(
  plan: Plan,
  company: Company,
  ask: (seconds: number) => Promise<Measured>,
): Promise<Measured> {
  const seconds = plan.arrival_seconds;
  const events = tokenEvents(company, BESIDE.per_s * seconds);
  // Made beforehand: making them would take from the server while it is measured.
  const requests = [...requestsOf(company, events, BESIDE.batch)];
  const { origin } = company;
  const per_s = BESIDE.per_s / BESIDE.batch;
  const [asked] = await Promise.all([
    ask(seconds - 0.5),
    runArrivals({ origin, connections: BESIDE.connections, requests, status: 201, per_s }),
  ]);
  return asked;
}

/** The bodies of a check of each subscription. */
function checksOf({ subscriptions }: Company, more: Record<string, unknown>): string[] {
  const terms = { feature: FEATURE.code, units: "10", ...more };
  return subscriptions.map(({ external_subscription_id }) =>
    JSON.stringify({ external_subscription_id, ...terms }),
  );
}

/** One after the other, again and again. */
function* endless<T>(items: readonly T[]): Generator<T> {
  while (items.length > 0) yield* items;
}

/** Whether a check that is sent when an event was answered has counted it. */
async function seen(events: number, company: Company, progress: Progress): Promise<Finding> {
  const what = "a check sent when an event was answered has counted it";
  progress(what);
  let found = 0;
  for (const event of tokenEvents(company, SEEN)) {
    const { external_subscription_id, metadata } = event;
    const asked = { external_subscription_id, feature: FEATURE.code };
    const before = await company.fetchJson(Checked, "POST", CHECK_PATH, asked);
    await company.fetchJson(Stored, "POST", "/usage/events", event);
    const after = await company.fetchJson(Checked, "POST", CHECK_PATH, asked);
    const added = Number(after.data.used) - Number(before.data.used);
    if (before.data.certain && after.data.certain && added === metadata.output) found++;
  }
  return finding(what, events, {
    measured: `${found} of ${SEEN}`,
    goal: { text: "all", met: found === SEEN },
    figures: [{ name: "found", unit: "checks/s", values: [found] }],
  });
}

/** The rates of two companies that differ by their limits alone, in turns. */
export async function measureIngest(
  plan: Plan,
  { months: { events }, limited, unlimited }: OpenMonths,
  { progress }: RunContext,
): Promise<Finding[]> {
  const { batch, connections, least } = INGEST;
  const what = `ingest with a limit for each subscription, batches of ${batch}, ${connections} connections`;
  progress(what);
  const send = async (company: Company) => {
    const requests = [...requestsOf(company, tokenEvents(company, plan.batched_events), batch)];
    const load = await runLoad({ origin: company.origin, connections, requests, status: 201 });
    return { ...load, per_s: load.per_s * batch };
  };
  const { subject, peer } = await takeTurns(plan, {
    subject: () => send(limited),
    peer: () => send(unlimited),
  });
  const named = { name: "the same without limits", median: peer };
  return [rateFinding(what, events, { unit: "events", subject, peer: named, least })];
}

/** Events of now, each of any subscription. */
function* tokenEvents(
  { subscriptions }: Company,
  count: number,
): Generator<Event & { metadata: { output: number } }> {
  const timestamp = Temporal.Now.instant().epochMilliseconds;
  for (let i = 0; i < count; i++) {
    const random = Math.floor(Math.random() * 2 ** 32);
    const one = random % subscriptions.length;
    const model = ["small", "large", "code"][i % 3] ?? "";
    const input = 100 + (random % 4_000);
    yield {
      id: crypto.randomUUID(),
      external_subscription_id: subscriptions[one]?.external_subscription_id ?? "",
      timestamp: timestamp - (random % 1_000),
      usage: 1,
      metadata: {
        model,
        user: `${one}-${random % 40}`,
        input,
        cached: random % 100,
        output: 10 + (random % 1_000),
        status: 200,
      },
    };
  }
}
