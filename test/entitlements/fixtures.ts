import { type BillingFixture, type Company, FLAT, useBilling } from "../billing/fixtures.ts";
import type { Answer, Json, Service } from "../support/harness.ts";

/** A company with a meter, features and what checks need. */
export interface LimitedCompany extends Company {
  meter_id: number;
  /** Subscribes to a model with these entitlements; the external id. */
  entitle(...entitlements: Json[]): Promise<Entitled>;
  /** POST /usage/check, once the totals that it needs are counted. */
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
export function useLimits(): BillingFixture & {
  addLimited(place?: { timezone: string }): Promise<LimitedCompany>;
} {
  const billing = useBilling();
  return { ...billing, addLimited: (place) => limit(billing, place) };
}

/** Resolves when no instance is counting a total. */
export async function counted({ instances }: Pick<Service, "instances">): Promise<void> {
  for (const { usage } of instances) await usage.running_totals.counted();
}

async function limit(billing: BillingFixture, place?: { timezone: string }): Promise<LimitedCompany> {
  const company = await billing.addCompany(place);
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
    async check(external_subscription_id, body = {}) {
      const asked = { external_subscription_id, feature: "tokens", ...body };
      const answer = await api("POST", "/usage/check", asked);
      if (answer.body.data?.certain !== false || answer.body.data.reservation !== null) return answer;
      // On a busy machine a total may take longer to count than a check waits for it.
      await counted(billing.service);
      return api("POST", "/usage/check", asked);
    },
    send: (external_subscription_id, event) =>
      api("POST", "/usage/events", { external_subscription_id, ...event }),
  };
}
