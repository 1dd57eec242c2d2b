import { join } from "node:path";
import { LIMITS } from "../../src/usage/limits.ts";
import { openDuckDb } from "../../src/usage_store/duckdb/duckdb_store.ts";
import { makeEvent } from "../events.ts";
import { asNewEvent, chunks } from "../goals/seed.ts";
import { dataDir, readManifest } from "./company.ts";
import { timestampOf } from "./plain_usage.ts";

const SLOT_EVENTS = 20_000;

/** Stores the events of a manifest through the port behind `POST /usage/events`. The service must not run. */
export async function storeEvents(folder: string): Promise<void> {
  const manifest = readManifest(folder);
  const ids = new Map(manifest.subscriptions.map((one) => [one.external_subscription_id, one.id]));
  const store = await openDuckDb({
    path: join(dataDir(folder), "usage.duckdb"),
    pending_events: LIMITS.usage_pending_events,
    group_events: SLOT_EVENTS,
  });
  let stored = 0;
  for (let first = 0; first < manifest.events; first += SLOT_EVENTS) {
    const count = Math.min(SLOT_EVENTS, manifest.events - first);
    const events = Array.from({ length: count }, (_, i) =>
      asNewEvent(makeEvent(manifest.subscriptions, first + i, timestampOf(manifest, first + i)), ids),
    );
    const now_ms = Temporal.Now.instant().epochMilliseconds;
    const appends = [...chunks(events)].map((chunk) => store.append(manifest.company_id, chunk, now_ms));
    for (const { accepted } of await Promise.all(appends)) stored += accepted;
  }
  await store.close();
  if (stored !== manifest.events)
    throw new Error(`Cannot go on: ${stored} events were stored of ${manifest.events}`);
}
