import { chunks } from "../../core/chunk.ts";
import { LIMITS } from "../../core/limits.ts";
import type { Store } from "../../store/store.ts";
import { environmentOf, type Event } from "../events/model.ts";
import { listEventsById, listUndispatched, type ClaimedEvent, claimUndispatched } from "../events/queries.ts";
import { listensTo } from "../endpoints/model.ts";
import { type ActiveEndpoint, listActive } from "../endpoints/queries.ts";
import { insertLogs, type NewLog } from "./queries.ts";

/** Rows of one INSERT: databases bound how many values a statement may have. */
const ROWS = 500;

/**
 * Turns new events into deliveries to whoever listens, each event exactly once: in one transaction it is taken
 * and its deliveries are written. Returns how many events were new. Decision 0060.
 */
export async function fanOut(store: Store, now: Temporal.Instant): Promise<number> {
  const ids = await listUndispatched(store.read, LIMITS.webhook_fan_out_events);
  if (ids.length === 0) return 0;
  await store.tx(async (q) => {
    const taken = await claimUndispatched(q, now, ids);
    const company_ids = [...new Set(taken.map(({ company_id }) => company_id))];
    const endpoints = await listActive(q, { company_ids });
    // Most often nobody listens: only what is told is read.
    const deliverable = taken.filter((event) => endpoints.some((endpoint) => isSubscribed(endpoint, event)));
    const events = await listEventsById(
      q,
      deliverable.map(({ id }) => id),
    );
    const logs = events.flatMap((event) => deliveriesOf(event, endpoints));
    for (const batch of chunks(logs, ROWS)) await insertLogs(q, now, batch);
  });
  return ids.length;
}

function isSubscribed(endpoint: ActiveEndpoint, { company_id, type }: ClaimedEvent): boolean {
  return endpoint.company_id === company_id && listensTo(endpoint, type);
}

function deliveriesOf(event: Event, endpoints: readonly ActiveEndpoint[]): NewLog[] {
  const { company_id, message_id, type, data, created_at } = event;
  return endpoints
    .filter((endpoint) => isSubscribed(endpoint, event))
    .map(({ id, url }) => ({
      company_id,
      endpoint_id: id,
      message_id,
      event_type: type,
      environment: environmentOf(event),
      url,
      payload: { type, timestamp: created_at, data },
      step: 0,
    }));
}
