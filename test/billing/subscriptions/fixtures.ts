import type { Answer, Api, Json, Tenant } from "../../support/harness.ts";

/** What a subscription needs, in one company. */
export interface Catalog {
  client_id: number;
  product_id: number;
  billing_model_id: number;
}

let made = 0;

/** A name that no other test has. */
export function fresh(what: string): string {
  return `${what} ${++made}`;
}

/** Creates a record and returns it. Throws when the service refuses. */
export async function create(api: Api, path: string, body: unknown): Promise<Json> {
  const answer = await api("POST", path, body);
  if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body.data;
}

/** A flat model of 10 USD a month, but for what is given. */
export function flatModel(given: Record<string, unknown> = {}) {
  return { billing_type_id: 1, name: "Flat", price: 10, currency: "USD", description: "", ...given };
}

export async function addCatalog({ api }: Pick<Tenant, "api">): Promise<Catalog> {
  const client = await create(api, "/clients", { name: fresh("Client") });
  const product = await create(api, "/products", { name: fresh("Product") });
  const model = await create(api, "/billing-models", flatModel());
  return { client_id: client.id, product_id: product.id, billing_model_id: model.id };
}

/** A subscription's body, with an external id that no other test has. */
export function subscriptionBody(catalog: Catalog, given: Record<string, unknown> = {}) {
  return { name: "Main", external_subscription_id: fresh("ext"), ...catalog, ...given };
}

/** The subscription as every other answer has it. */
export async function subscribe(
  api: Api,
  catalog: Catalog,
  given: Record<string, unknown> = {},
): Promise<Json> {
  const { past_periods: _, ...record } = await create(
    api,
    "/subscriptions",
    subscriptionBody(catalog, given),
  );
  return record;
}

/** How many answers there are of each status. */
export function tally(answers: Answer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
