import { eq } from "drizzle-orm";
import { billingModelChangeTable } from "../../../src/billing/billing_model_changes/tables.ts";
import { eventTable } from "../../../src/webhooks/events/tables.ts";
import type { Answer, Api, Service, Json, Tenant } from "../../support/harness.ts";
import { type BillingFixture, FLAT } from "../fixtures.ts";
import { runNamedJob } from "../../support/jobs.ts";

export const NOW = "2024-03-20T12:00:00.000Z";
export const JANUARY = { started_at: "2024-01-01T00:00:00Z" };

/** Adds a company with flat models of 10, 20 and 30 EUR a month. */
export async function addFlatModels(billing: BillingFixture) {
  const company = await billing.addCompany();
  const add = (name: string, price: number) => company.addModel({ ...FLAT, name, price });
  return {
    company,
    ten: await add("Ten", 10),
    twenty: await add("Twenty", 20),
    thirty: await add("Thirty", 30),
  };
}

/** POST /subscriptions/{id}/billing-model-changes. */
export function changeTo(
  api: Api,
  id: number,
  new_billing_model_id: number,
  effective_at: string,
): Promise<Answer> {
  return api("POST", `/subscriptions/${id}/billing-model-changes`, { new_billing_model_id, effective_at });
}

/** Makes a scheduled change due earlier than it may be asked for: as if a run had not come upon it in time. */
export async function makeDue({ deps }: Service, change_id: number, effective_at: string): Promise<void> {
  await deps.store.tx(async (q) => {
    const t = q.use(billingModelChangeTable);
    await q.update(t).set({ effective_at }).where(eq(t.id, change_id));
  });
}

/** All changes of a subscription. */
export async function changesOf(api: Api, id: number): Promise<Json[]> {
  return (await api("GET", `/subscriptions/${id}/billing-model-changes`)).body.data;
}

/** Runs the job that applies plan changes that are due. */
export async function applyDueChanges(service: Service): Promise<void> {
  await runNamedJob(service, "billing_model_changes");
}

/** The rows of the outbox that tell of a subscription's changes and credits, first written first. */
export async function outboxOf({ deps }: Service, { company_id }: Tenant, id: number): Promise<Json[]> {
  const { read } = deps.store;
  const rows: Json[] = await read.select().from(read.use(eventTable));
  return rows
    .filter((row) => row.company_id === company_id && row.data.subscription_id === id)
    .filter((row) => /^(billing_model_change|credits)\./.test(row.type))
    .toSorted((a, b) => a.id - b.id);
}

/** The types of those events. */
export async function eventsOf(service: Service, tenant: Tenant, id: number): Promise<string[]> {
  return (await outboxOf(service, tenant, id)).map((row) => row.type);
}
