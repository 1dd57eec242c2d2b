import { beforeAll } from "bun:test";
import {
  type Api,
  type Service,
  type Json,
  type Tenant,
  TestClock,
  useService,
} from "../../support/harness.ts";
import { addCatalog } from "../../billing/subscriptions/fixtures.ts";
import { addSubscription, ms, send, uuid } from "../fixtures.ts";

/** Two companies with usage, as the tests of search know them. */
export interface SearchFixture {
  service: Service;
  other: Tenant;
  /** A user of client A. */
  client: Api;
  /** The subscriptions, by external id. a1 and a2 are client A's; a1 and b1 have one product. */
  subscriptions: Record<string, Json>;
  /** The other company's subscription. */
  foreign: Json;
}

/** Half past midnight on 10 March in Kuala Lumpur, where the company is; still the ninth in UTC. */
export const NOW = ms("2026-03-09T16:30:00Z");

/** Event n has the id uuid(n). */
const EVENTS: [subscription: string, at: string, usage: number, metadata?: Record<string, unknown>][] = [
  ["a1", "2026-03-09T16:30:00Z", 1, { region: "eu", tag: { env: "Prod" } }],
  ["a1", "2026-03-09T15:30:00Z", 2.5, { region: "us" }],
  ["a2", "2026-03-09T15:29:59.999Z", -0.5, { region: "eu", note: "50% off_" }],
  ["b1", "2026-03-01T00:00:00Z", 10, { n: 5 }],
  ["b1", "2026-02-28T16:00:00Z", 20],
  ["a1", "2026-02-28T15:59:59.999Z", 0.000001],
  ["a2", "2026-01-31T16:00:00Z", 40],
  ["b1", "2026-01-31T15:59:59.999Z", 80],
  ["b1", "2025-12-09T00:00:00Z", 160],
];

/** A service with them for the tests of a file; the records are there before the first test. */
export function useSearchFixture(): SearchFixture {
  const clock = new TestClock("2026-03-09T16:30:00.000Z");
  const service = useService({ clock, timezone: "Asia/Kuala_Lumpur" });
  const fixture = { service } as SearchFixture;
  beforeAll(async () => void Object.assign(fixture, await addRecords(service)));
  return fixture;
}

async function addRecords(service: Service): Promise<Omit<SearchFixture, "service">> {
  const other = await service.addTenant();
  const a = await addCatalog(service);
  const b = { ...(await addCatalog(service)), product_id: a.product_id };
  const second = { ...a, product_id: (await addCatalog(service)).product_id };
  const subscriptions = {
    a1: await addSubscription(service, "a1", a),
    a2: await addSubscription(service, "a2", second),
    b1: await addSubscription(service, "b1", b),
  };
  const foreign = await addSubscription(other, "a1");
  const events = EVENTS.map(([external_subscription_id, at, usage, metadata = {}], i) => {
    return { id: uuid(i + 1), external_subscription_id, timestamp: ms(at), usage, metadata };
  });
  const sent = await send(service.api, events);
  const theirs = await send(other.api, { external_subscription_id: "a1", usage: 7 });
  if (sent.status !== 201 || theirs.status !== 201)
    throw new Error(`Cannot send: ${JSON.stringify(sent.body)}`);
  return { other, client: await service.addUser(service, "client", a.client_id), subscriptions, foreign };
}
