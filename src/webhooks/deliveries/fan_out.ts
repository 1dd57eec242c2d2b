import { chunks } from "../../core/chunk.ts";
import { LIMITS } from "../limits.ts";
import type { Store } from "../../store/store.ts";
import { environmentOf, type Event } from "../events/model.ts";
import { type ClaimedEvent, claimUndispatched, listEventsById, listUndispatched } from "../events/queries.ts";
import { subscribesTo } from "../endpoints/model.ts";
import { type ActiveEndpoint, listActive } from "../endpoints/queries.ts";
import { insertLogs, type NewLog } from "./queries.ts";

/** Rows of one INSERT: databases bound how many values a statement may have. */
const ROWS = 500;

/**
 * Fans the outbox out: claims undispatched events and inserts a delivery for each subscribed endpoint, in one
 * transaction. Returns how many events it found. Decision 0060.
 */
export async function fanOut(store: Store, now: Temporal.Instant): Promise<number> {
  const ids = await listUndispatched(store.read, LIMITS.webhook_fan_out_events);
  if (ids.length === 0) return 0;
  await store.tx(async (q) => {
    const claimed = await claimUndispatched({ q, now }, ids);
    const company_ids = [...new Set(claimed.map(({ company_id }) => company_id))];
    const endpoints = await listActive(q, { company_ids });
    // Most events have no subscriber: their data is not read.
    const subscribed = claimed.filter((event) => endpoints.some((endpoint) => isSubscribed(endpoint, event)));
    const subscribed_ids = subscribed.map(({ id }) => id);
    const events = await listEventsById(q, subscribed_ids);
    const logs = events.flatMap((event) => deliveriesOf(event, endpoints));
    for (const batch of chunks(logs, ROWS)) await insertLogs({ q, now }, batch);
  });
  return ids.length;
}

function isSubscribed(endpoint: ActiveEndpoint, { company_id, type }: Omit<ClaimedEvent, "id">): boolean {
  return endpoint.company_id === company_id && subscribesTo(endpoint, type);
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
