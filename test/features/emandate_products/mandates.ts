import { systemClock } from "../../../src/core/time.ts";
import type { GivenCustomer } from "../../../src/features/emandate_customers/model.ts";
import { findOrMakeCustomer } from "../../../src/features/emandate_customers/queries.ts";
import type { MandateStatus } from "../../../src/features/mandates/model.ts";
import { stamped } from "../../../src/store/columns.ts";
import { only } from "../../../src/store/rows.ts";
import type { House, Json, Tenant } from "../../harness.ts";
import { create, fresh } from "../subscriptions/catalog.ts";

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
  return deps.store.tx((q) => findOrMakeCustomer(q, { company_id }, systemClock.now(), customer, "/ic"));
}

/** A mandate in any state, also in those that the sandbox takes long to reach; answers its id. */
export async function addMandate(
  house: House,
  tenant: Tenant,
  given: { status: MandateStatus; customer_id?: number; emandate_product_id?: number },
): Promise<number> {
  const { company_id } = tenant;
  const customer_id = given.customer_id ?? (await onboard(house, tenant)).id;
  const mandate = {
    company_id,
    reference: fresh("EM").replace(" ", "-"),
    connector: "sandbox" as const,
    application_type: "01" as const,
    max_amount: "150.00",
    max_no_debit: "1",
    frequency: "Monthly" as const,
    failed_payments: 0,
    ...stamped(systemClock.now()),
    ...given,
    customer_id,
  };
  const made = await house.deps.store.tx((q) =>
    q.insert(q.tables.mandates).values(mandate).returning({ id: q.tables.mandates.id }),
  );
  return only(made).id;
}
