import { batches, type Event, history, recent } from "./events.ts";
import type { House } from "./house.ts";
import { runLoad } from "./load.ts";
import { takeTurns } from "./plan.ts";
import { RawUsage } from "./raw_usage.ts";
import type { Bench, Stage } from "./stage.ts";
import { type Measured, medianOf } from "./stats.ts";
import { type Goal, rateRow, round, type Row } from "./table.ts";

const EVENTS_PATH = "/usage/events";
const CONNECTIONS = 32;
const SINGLE_CONNECTIONS = 128;
const SEED_BATCH = 1_000;

/** Goals are ratios, so that they hold on every machine: 15,000 single events where the raw rate is 487,000. */
const SINGLE_GOAL = 15_000 / 487_000;
const BATCH_GOAL = 0.35;

/** Batches of events of three sizes, each beside the raw rate measured in the same round. */
export const ingest: Bench = {
  name: "ingest",
  summary: "POST /usage/events in batches of 1, 100 and 1,000 against typed chunks in-process",
  needs_events: true,
  async run(stage) {
    const raw = await RawUsage.open(stage.cleanup);
    const { single_events, batched_events } = stage.plan;
    const rows: Row[] = [];
    for (const { size, connections, events, goal } of [
      { size: 100, connections: CONNECTIONS, events: batched_events, goal: BATCH_GOAL },
      { size: 1, connections: SINGLE_CONNECTIONS, events: single_events, goal: SINGLE_GOAL },
      { size: 1_000, connections: CONNECTIONS, events: batched_events, goal: undefined },
    ]) {
      stage.progress(`ingest in batches of ${size}`);
      const turns = await takeTurns(stage.plan, {
        peer: () => raw.write(recentEvents(stage.house, batched_events)),
        subject: () => send(stage.house, recentEvents(stage.house, events), { size, connections }),
      });
      const [subject, peer] = [medianOf(turns.subject), medianOf(turns.peer)];
      const what = `ingest in batches of ${size.toLocaleString("en-US")}, ${connections} connections`;
      const cell = { name: "typed chunks in-process", per_s: peer.per_s };
      const reached = goal === undefined ? {} : { goal: ratioGoal(goal, subject.per_s / peer.per_s) };
      rows.push(rateRow(what, "events", { subject, peer: cell, ...reached }));
    }
    raw.close();
    return rows;
  },
};

/** Stores the plan's events by the service's own door. */
export async function seedEvents({ plan, house, progress }: Stage): Promise<void> {
  progress(`storing ${plan.events.toLocaleString("en-US")} events`);
  const events = history(house.subscriptions, plan.events, Temporal.Now.instant().epochMilliseconds);
  const { origin } = house;
  const requests = requestsOf(house, events, SEED_BATCH);
  const { per_s } = await runLoad({ origin, connections: 8, requests, status: 201 });
  progress(`stored at ${round(per_s * SEED_BATCH)} events/s (making them took its share)`);
}

/** The bytes of the requests that store the events, made as they are asked for. */
export function* requestsOf(house: House, events: Iterable<Event>, size: number): Generator<Uint8Array> {
  for (const body of batches(events, size)) yield house.request("POST", EVENTS_PATH, body);
}

/** Events of the last hour that no earlier call gave. */
export function recentEvents(house: House, count: number): Iterable<Event> {
  return recent(house.subscriptions, count, Temporal.Now.instant().epochMilliseconds);
}

async function send(
  house: House,
  events: Iterable<Event>,
  { size, connections }: { size: number; connections: number },
): Promise<Measured> {
  const requests = [...requestsOf(house, events, size)];
  const load = await runLoad({ origin: house.origin, connections, requests, status: 201 });
  return { ...load, per_s: load.per_s * size };
}

function ratioGoal(goal: number, reached: number): Goal {
  return { text: `≥ ${goal.toPrecision(2)} ×`, met: reached >= goal };
}
