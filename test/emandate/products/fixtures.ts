import { systemClock } from "../../../src/core/time.ts";
import type { GivenCustomer } from "../../../src/emandate/customers/model.ts";
import { findOrMakeCustomer } from "../../../src/emandate/customers/queries.ts";
import type { House, Json, Tenant } from "../../support/harness.ts";
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
  { deps }: House,
  { company_id }: Tenant,
  given: Partial<GivenCustomer> = {},
): Promise<{ id: number }> {
  const customer = { name: "Siti", email: `${fresh("c").replace(" ", "")}@example.com`, ...given };
  return deps.store.tx((q) =>
    findOrMakeCustomer({ q, scope: { company_id }, now: systemClock.now() }, customer, "/ic"),
  );
}
