import { instant } from "../../src/core/time.ts";
import { canonicalJson } from "../../src/usage_store/metadata.ts";
import {
  type Answer,
  type Api,
  type Service,
  type Json,
  startService,
  type Tenant,
  TestClock,
  useService,
} from "../support/harness.ts";

/** Tokens signed this late hold at every time that the tests set. */
const SIGN_IN_AT = "2040-01-01T00:00:00Z";

/** A service whose clock is set by hand, with what billing tests need of it. */
export interface BillingFixture {
  service: Service;
  clock: TestClock;
  /** Adds a company whose admin stays signed in. */
  addCompany(place?: { timezone?: string; currency?: string }): Promise<Company>;
}

/** A company to bill in. */
export interface Company extends Tenant {
  client_id: number;
  /** Signs a user of the company in for good. */
  addUser(role: "analyst" | "client", client_id?: number): Promise<Api>;
  addClient(): Promise<number>;
  addModel(model: Json): Promise<number>;
  /** Subscribes the company's client, or the given one, to a model made for it. */
  subscribe(model: Json, options?: Json): Promise<number>;
  /** Stores events of [time, units] or [time, units, metadata], as received now. */
  use(subscription_id: number, ...events: [at: string, units: string, metadata?: Json][]): Promise<void>;
  /** POST /billing-runs; expects it to finish. */
  run(body?: Json): Promise<Json>;
  /** The records of a subscription, first written first. */
  records(subscription_id: number): Promise<Json[]>;
}

/** The fixture for the tests of a file. */
export function useBilling(): BillingFixture {
  const clock = new TestClock(SIGN_IN_AT);
  return billingFixtureOf(useService({ clock }), clock);
}

export async function openBillingFixture(env: Record<string, string> = {}): Promise<BillingFixture> {
  const clock = new TestClock(SIGN_IN_AT);
  return billingFixtureOf(await startService({ clock, env }), clock);
}

function billingFixtureOf(service: Service, clock: TestClock): BillingFixture {
  return { service, clock, addCompany: (place) => addCompany(service, clock, place) };
}

/** Does something at another time than now. */
async function at<T>(clock: TestClock, time: string, work: () => Promise<T>): Promise<T> {
  const now = clock.now().toString();
  clock.set(time);
  try {
    return await work();
  } finally {
    clock.set(now);
  }
}

async function addCompany(service: Service, clock: TestClock, place?: object): Promise<Company> {
  const tenant = await at(clock, SIGN_IN_AT, () => service.addTenant(place));
  const { api, company_id } = tenant;
  const create = async (path: string, body: Json): Promise<number> => {
    const { status, body: answer } = await api("POST", path, body);
    if (status !== 201) throw new Error(`POST ${path} ${JSON.stringify(body)}: ${JSON.stringify(answer)}`);
    return answer.data.id;
  };
  const client_id = await create("/clients", { name: "Client" });
  const product_id = await create("/products", { name: "Product" });
  let names = 0;
  const addModel = (model: Json) =>
    create("/billing-models", { name: "Plan", description: "", currency: "EUR", price: 0, ...model });
  return {
    ...tenant,
    client_id,
    addClient: () => create("/clients", { name: "Another" }),
    addUser: (role, id) => at(clock, SIGN_IN_AT, () => service.addUser(tenant, role, id)),
    addModel,
    async subscribe(model, options = {}) {
      const billing_model_id = typeof model === "number" ? model : await addModel(model);
      const external_subscription_id = `external ${++names}`;
      const ids = { client_id, product_id, billing_model_id, external_subscription_id };
      return create("/subscriptions", { name: "Subscription", ...ids, ...options });
    },
    async use(subscription_id, ...events) {
      const stored = events.map(([time, usage, metadata]) => ({
        id: crypto.randomUUID(),
        subscription_id,
        timestamp: instant(time).epochMilliseconds,
        timestamp_given: true,
        usage,
        metadata: metadata === undefined ? null : canonicalJson(metadata),
      }));
      await service.deps.usage.append(company_id, stored, clock.now().epochMilliseconds);
    },
    run: async (body) => finished(await api("POST", "/billing-runs", body)),
    async records(subscription_id) {
      const path = `/billing-records?limit=200&subscription_id=${subscription_id}`;
      return (await api("GET", path)).body.data.toReversed();
    },
  };
}

function finished({ status, body }: Answer): Json {
  if (status !== 200 || body.data.status !== "finished") throw new Error(`${status} ${JSON.stringify(body)}`);
  return body.data;
}

// Models, as POST /billing-models takes them.

export const FLAT = { billing_type_id: 1, price: 31 };
export const PER_UNIT = { billing_type_id: 2, price: 0.5 };
export const GRADUATED = {
  billing_type_id: 3,
  usage_tiers: [
    { up_to: "10", unit_price: "10", flat_fee: "2" },
    { up_to: "20", unit_price: "5", flat_fee: "3" },
    { up_to: null, unit_price: "5", flat_fee: "3" },
  ],
};
export const VOLUME = {
  billing_type_id: 4,
  usage_tiers: [
    { up_to: "100", unit_price: "2", flat_fee: "10" },
    { up_to: "200", unit_price: "1", flat_fee: "0" },
    { up_to: null, unit_price: "0.5", flat_fee: "50" },
  ],
};
export const PACKAGE = { billing_type_id: 5, price: 100, package_size: "10" };
export const CREDIT = {
  billing_type_id: 6,
  price: 50,
  credit_plan: { monthly_credits: 100, credit_consumption: "per_unit", overage_rate: "0.02" },
};
