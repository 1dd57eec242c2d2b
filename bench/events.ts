import type { Subscription } from "./company.ts";

const DAY_MS = 86_400_000;
const REGIONS = ["eu-west-1", "eu-north-1", "us-east-1", "us-west-2", "ap-south-1", "ap-east-1", "sa-east-1"];
const PATHS = ["orders", "invoices", "customers", "checkout", "search", "reports", "images", "webhooks"];

/** The days of usage history. */
export const HISTORY_DAYS = 90;

/** The word that some of the events have in their metadata. */
export const RARE_WORD = "checkout";
/** A pair that some of the events have. */
export const RARE_PAIR = { path: "/v1/checkout", region: "eu-north-1" };

/** An event as it is sent, with a random id. */
export interface Event {
  id: string;
  external_subscription_id: string;
  timestamp: number;
  usage: number;
  metadata: Record<string, string | number>;
}

/** `count` events in the order of time, spread over the history before `end_ms`: as they come in production. */
export function* history(
  subscriptions: readonly Subscription[],
  count: number,
  end_ms: number,
): Generator<Event> {
  for (let i = 0; i < count; i++) {
    yield makeEvent(subscriptions, i, end_ms - Math.round((HISTORY_DAYS * DAY_MS * (count - i)) / count));
  }
}

/** `count` events of the last hour, in no order. */
export function* recent(
  subscriptions: readonly Subscription[],
  count: number,
  end_ms: number,
): Generator<Event> {
  for (let i = 0; i < count; i++)
    yield makeEvent(subscriptions, i, end_ms - (scatter(i + count) % 3_600_000));
}

/** Cuts events into the bodies of requests. */
export function* batches(events: Iterable<Event>, size: number): Generator<string> {
  let batch: Event[] = [];
  for (const one of events) {
    batch.push(one);
    if (batch.length < size) continue;
    yield JSON.stringify(size === 1 ? batch[0] : batch);
    batch = [];
  }
  if (batch.length > 0) yield JSON.stringify(batch);
}

/** The event of a number: all but its id and its timestamp follow from that. */
export function makeEvent(subscriptions: readonly Subscription[], i: number, timestamp: number): Event {
  const random = scatter(i);
  return {
    id: crypto.randomUUID(),
    external_subscription_id: subscriptions[random % subscriptions.length]?.external_subscription_id ?? "",
    timestamp,
    usage: (scatter(random) % 100_000) / 1_000,
    metadata: {
      path: `/v1/${PATHS[(random >>> 8) % PATHS.length]}`,
      region: REGIONS[(random >>> 16) % REGIONS.length] ?? "",
      status: random % 50 === 0 ? 500 : 200,
      trace: random.toString(36),
    },
  };
}

/** Scatters whole numbers over 32 bits, the same way every time. */
function scatter(value: number): number {
  let bits = Math.imul(value ^ 0x9e3779b9, 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
