import { join } from "node:path";
import { LIMITS } from "../../src/usage/limits.ts";
import { roundUsage } from "../../src/usage/ingest/rules.ts";
import { openDuckDb } from "../../src/usage_store/duckdb/duckdb_store.ts";
import { canonicalJson } from "../../src/usage_store/metadata.ts";
import type { NewEvent, UsageStore } from "../../src/usage_store/port.ts";
import { type Event, makeEvent } from "../events.ts";
import { round } from "../table.ts";
import { dataDir, type Manifest, readManifest } from "./deployment.ts";

/** Events of one slot of time: companies take turns within it, so that all events come nearly in order. */
const SLOT_EVENTS = 20_000;
const BATCH = 1_000;
const PROGRESS_EVENTS = 5_000_000;

/** A company of the manifest, with the ids of its subscriptions by their external ids. */
type Seeded = Manifest["companies"][number] & { ids: ReadonlyMap<string, number> };

/**
 * Stores the events of a deployment's manifest through the port behind `POST /usage/events`, with what the
 * route would have made of them: it spares the time of as many requests. The service must not run.
 */
export async function seed(folder: string): Promise<void> {
  const manifest = readManifest(folder);
  const companies = manifest.companies.map((company) => ({
    ...company,
    ids: new Map(company.subscriptions.map((one) => [one.external_subscription_id, one.id])),
  }));
  const store = await openDuckDb({
    path: join(dataDir(folder), "usage.duckdb"),
    pending_events: LIMITS.usage_pending_events,
    group_events: SLOT_EVENTS,
  });
  const started = performance.now();
  let stored = 0;
  let progress_at = PROGRESS_EVENTS;
  // The next slot is made while one is committed.
  let committing: Promise<number> = Promise.resolve(0);
  const slots = Math.ceil(manifest.events / SLOT_EVENTS);
  for (let slot = 0; slot < slots; slot++) {
    const appended = appendSlot(store, manifest, companies, [slot / slots, (slot + 1) / slots]);
    stored += await committing;
    committing = appended;
    if (stored < progress_at) continue;
    const per_s = (stored / (performance.now() - started)) * 1_000;
    process.stderr.write(`        ${stored.toLocaleString("en-US")}, ${round(per_s)} events/s\n`);
    progress_at += PROGRESS_EVENTS;
  }
  stored += await committing;
  if (stored !== manifest.events)
    throw new Error(`Cannot go on: ${stored} events were stored of ${manifest.events}`);
  await store.close();
}

/** Stores what happened between two shares of the whole time, and gives how many events that were. */
async function appendSlot(
  store: UsageStore,
  manifest: Manifest,
  companies: readonly Seeded[],
  [from, until]: [number, number],
): Promise<number> {
  const now_ms = Temporal.Now.instant().epochMilliseconds;
  const appends = companies.flatMap((company) => {
    const events: NewEvent[] = [];
    const last = Math.floor(company.events * until);
    for (let i = Math.floor(company.events * from); i < last; i++) events.push(eventOf(manifest, company, i));
    return [...chunks(events)].map((chunk) => store.append(company.id, chunk, now_ms));
  });
  const results = await Promise.all(appends);
  return results.reduce((sum, { accepted }) => sum + accepted, 0);
}

/** A company's events are spread evenly over the time, and but for their ids the same in every deployment. */
function eventOf({ from_ms, until_ms }: Manifest, company: Seeded, i: number): NewEvent {
  const timestamp = from_ms + Math.floor(((until_ms - from_ms) * (i + 0.5)) / company.events);
  const random = Math.imul(company.id, 0x9e3779b1) + i;
  return asNewEvent(makeEvent(company.subscriptions, random, timestamp), company.ids);
}

/** An event as the route would store it. Errors: throws for one of no subscription. */
export function asNewEvent(event: Event, ids: ReadonlyMap<string, number>): NewEvent {
  const subscription_id = ids.get(event.external_subscription_id);
  const usage = roundUsage(event.usage);
  if (subscription_id === undefined || usage === undefined)
    throw new Error(`Cannot store an event of ${event.external_subscription_id}`);
  return {
    id: event.id,
    subscription_id,
    timestamp: event.timestamp,
    timestamp_given: true,
    usage,
    metadata: canonicalJson(event.metadata),
  };
}

/** Cuts events into what one request may have. */
export function* chunks(events: readonly NewEvent[]): Generator<NewEvent[]> {
  for (let start = 0; start < events.length; start += BATCH) yield events.slice(start, start + BATCH);
}
