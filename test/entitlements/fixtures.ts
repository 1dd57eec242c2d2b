import { type BillingFixture, type Company, FLAT, useBilling } from "../billing/fixtures.ts";
import type { Answer, Json } from "../support/harness.ts";

/** A company with a meter, features and what checks need. */
export interface LimitedCompany extends Company {
  meter_id: number;
  /** Subscribes to a model with these entitlements; the external id. */
  entitle(...entitlements: Json[]): Promise<Entitled>;
  check(external_subscription_id: string, body?: Json): Promise<Answer>;
  send(external_subscription_id: string, event: Json): Promise<Answer>;
}

export interface Entitled {
  id: number;
  external: string;
  model_id: number;
}

export const MONTHLY = { feature: "tokens", limit: "1000", window: "month" };

/** The fixture for the tests of a file. */
export function useLimits(): BillingFixture & { addLimited(): Promise<LimitedCompany> } {
  const billing = useBilling();
  return { ...billing, addLimited: () => limit(billing) };
}

async function limit(billing: BillingFixture): Promise<LimitedCompany> {
  const company = await billing.addCompany();
  const { api } = company;
  const meter = { code: "tokens", name: "Tokens", aggregation: "sum", group_keys: ["model"] };
  const meter_id = (await api("POST", "/meters", meter)).body.data.id;
  await api("POST", "/features", { code: "tokens", name: "Tokens", kind: "limit", meter_id });
  await api("POST", "/features", { code: "sso", name: "Single sign-on", kind: "switch" });
  let names = 0;
  return {
    ...company,
    meter_id,
    async entitle(...entitlements) {
      const external = `entitled ${++names}`;
      const model_id = await company.addModel({ ...FLAT, entitlements });
      const id = await company.subscribe(model_id, {
        external_subscription_id: external,
        started_at: "2026-01-01T00:00:00Z",
      });
      return { id, external, model_id };
    },
    check: (external_subscription_id, body = {}) =>
      api("POST", "/usage/check", { external_subscription_id, feature: "tokens", ...body }),
    send: (external_subscription_id, event) =>
      api("POST", "/usage/events", { external_subscription_id, ...event }),
  };
}
