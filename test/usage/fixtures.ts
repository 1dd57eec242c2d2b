import type { Answer, Api, Json, Tenant } from "../support/harness.ts";
import { addCatalog, type Catalog, subscribe } from "../billing/subscriptions/fixtures.ts";

/** A subscription from 2020 on, with its external id. */
export async function addSubscription(
  { api }: Pick<Tenant, "api">,
  external_subscription_id: string,
  catalog?: Catalog,
): Promise<Json> {
  const given = {
    external_subscription_id,
    name: `Name of ${external_subscription_id}`,
    started_at: "2020-01-01T00:00:00Z",
  };
  return subscribe(api, catalog ?? (await addCatalog({ api })), given);
}

export function send(api: Api, body: unknown): Promise<Answer> {
  return api("POST", "/usage/events", body);
}

/** Searches and returns the body. Throws when the service refuses. */
export async function search(api: Api, body: unknown, path = "/usage/search"): Promise<Json> {
  const answer = await api("POST", path, body);
  if (answer.status !== 200) throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** An id that a test can tell from others: `uuid(7)`. */
export function uuid(number: number): string {
  return `00000000-0000-4000-8000-${number.toString(16).padStart(12, "0")}`;
}

export function ms(instant: string): number {
  return Temporal.Instant.from(instant).epochMilliseconds;
}
