import { systemClock } from "../../../src/core/time.ts";
import type { CustomerInput } from "../../../src/emandate/customers/model.ts";
import { findOrCreateCustomer } from "../../../src/emandate/customers/queries.ts";
import type { Service, Json, Tenant } from "../../support/harness.ts";
import { create, fresh } from "../../billing/subscriptions/fixtures.ts";

/** A product's body, with a code that no other test has. */
export function productBody(given: Json = {}): Json {
  return {
    product_code: fresh("P").replace(" ", "-"),
    product_name: "Gym",
    max_amount: "150.00",
    frequency: "Monthly",
    ...given,
  };
}

export function addEmandateProduct({ api }: Pick<Tenant, "api">, given: Json = {}): Promise<Json> {
  return create(api, "/emandate/products", productBody(given));
}

/** Makes a customer as a mandate does. */
export function onboard(
  { deps }: Service,
  { company_id }: Tenant,
  given: Partial<CustomerInput> = {},
): Promise<{ id: number }> {
  const customer = { name: "Siti", email: `${fresh("c").replace(" ", "")}@example.com`, ...given };
  return deps.store.tx((q) =>
    findOrCreateCustomer({ q, scope: { company_id }, now: systemClock.now() }, customer, "/ic"),
  );
}
