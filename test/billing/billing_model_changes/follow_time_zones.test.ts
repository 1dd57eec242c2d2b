import { expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { call } from "../../../src/app/operation.ts";
import { listFollowingCompanies } from "../../../src/billing/billing_model_changes/follow_time_zones.ts";
import { followZoneRules } from "../../../src/billing/billing_model_changes/service.ts";
import { subscriptionTable } from "../../../src/billing/subscriptions/tables.ts";
import type { Json } from "../../support/harness.ts";
import { type Company, CREDIT, FLAT, useBilling } from "../fixtures.ts";
import { changesOf, changeTo, outboxOf, applyDueChanges } from "./fixtures.ts";

// What is to happen at the end of a billing period follows the company's time zone.

const NOW = "2024-03-20T12:00:00.000Z";
const ZONES = ["Asia/Kuala_Lumpur", "America/New_York", "Asia/Tokyo"] as const;
/** The first of June 2024 there. */
const JUNE: Record<string, string> = {
  "Asia/Kuala_Lumpur": "2024-05-31T16:00:00.000Z",
  "America/New_York": "2024-06-01T04:00:00.000Z",
  "Asia/Tokyo": "2024-05-31T15:00:00.000Z",
};
const LATER = { started_at: "2024-05-10T12:00:00Z" };

const billing = useBilling();

async function open(): Promise<Company> {
  billing.clock.set(NOW);
  return billing.addCompany();
}

const move = async (company: Company, timezone: string) =>
  expect((await company.api("PUT", "/company", { name: "C", timezone, currency: "EUR" })).status).toBe(200);
const get = async (company: Company, id: number): Promise<Json> =>
  (await company.api("GET", `/subscriptions/${id}`)).body.data;
const totalsOf = async (company: Company, id: number) =>
  (await company.records(id)).map(({ totalCharges }: Json) => totalCharges);

test.each(ZONES)("a cancelled first period that has not begun ends by the new zone: %s", async (timezone) => {
  const company = await open();
  const id = await company.subscribe(FLAT, LATER);
  const running = await company.subscribe(FLAT, { started_at: "2024-01-01T00:00:00Z" });
  const now = await company.subscribe(FLAT, LATER);
  for (const of of [id, running])
    await company.api("POST", `/subscriptions/${of}/cancel`, { at: "period_end" });
  await company.api("POST", `/subscriptions/${now}/cancel`, { at: "now" });
  expect((await get(company, id)).ends_at).toBe("2024-06-01T00:00:00.000Z");
  await move(company, timezone);
  expect((await get(company, id)).ends_at).toBe(JUNE[timezone]);
  // A running period keeps its zone; an instant stays an instant.
  expect((await get(company, running)).ends_at).toBe("2024-04-01T00:00:00.000Z");
  expect((await get(company, now)).ends_at).toBe("2024-05-10T12:00:00.000Z");
  billing.clock.set("2024-08-01T00:00:00Z");
  await company.run();
  // 22 of 31 days: once.
  expect(await totalsOf(company, id)).toEqual(["22.00"]);
  expect(await totalsOf(company, now)).toEqual([]);
});

test("a first period that is another one by the new zone is the one that runs", async () => {
  const company = await open();
  // Still May in UTC, June in Kiritimati.
  const id = await company.subscribe(FLAT, { started_at: "2024-05-31T20:00:00Z" });
  await company.api("POST", `/subscriptions/${id}/cancel`, { at: "period_end" });
  await move(company, "Pacific/Kiritimati");
  expect((await get(company, id)).ends_at).toBe("2024-06-30T10:00:00.000Z");
  await move(company, "UTC");
  expect((await get(company, id)).ends_at).toBe("2024-06-01T00:00:00.000Z");
});

test.each(ZONES)("a downgrade that waits for a period that has not begun follows: %s", async (timezone) => {
  const company = await open();
  const plan = { ...CREDIT.credit_plan, monthly_credits: 1000 };
  const small = await company.addModel({ ...CREDIT, price: 31, name: "Small" });
  const id = await company.subscribe({ ...CREDIT, price: 310, name: "Large", credit_plan: plan }, LATER);
  await company.api("POST", `/subscriptions/${id}/downgrade`, { new_billing_model_id: small });
  await move(company, timezone);
  const [waiting] = await changesOf(company.api, id);
  expect(waiting).toMatchObject({ status: "scheduled", effective_at: JUNE[timezone] });
  const told = await outboxOf(billing.service, company, id);
  expect(told.at(-1)).toMatchObject({
    type: "billing_model_change.scheduled",
    data: { effective_at: JUNE[timezone] },
  });
  billing.clock.set("2024-08-01T12:00:00Z");
  await applyDueChanges(billing.service);
  await company.run({ subscription_ids: [id] });
  expect(await totalsOf(company, id)).toEqual(["220.00", "31.00", "31.00"]);
});

test("a downgrade takes the next free instant, and what then lies after the end is cancelled", async () => {
  const company = await open();
  const plan = { ...CREDIT.credit_plan, monthly_credits: 1000 };
  const small = await company.addModel({ ...CREDIT, price: 31, name: "Small" });
  const flat = await company.addModel(FLAT);
  const june = JUNE["Asia/Kuala_Lumpur"] ?? "";
  const met = await company.subscribe({ ...CREDIT, price: 310, credit_plan: plan }, LATER);
  await company.api("POST", `/subscriptions/${met}/downgrade`, { new_billing_model_id: small });
  await changeTo(company.api, met, flat, june);
  const ended = await company.subscribe(flat, LATER);
  await changeTo(company.api, ended, small, "2024-05-31T18:00:00Z");
  await company.api("POST", `/subscriptions/${ended}/cancel`, { at: "period_end" });
  await move(company, "Asia/Kuala_Lumpur");
  expect(
    (await changesOf(company.api, met)).map((one) => [
      one.status,
      one.effective_at,
      one.old_billing_model_id,
    ]),
  ).toEqual([
    ["scheduled", june, expect.any(Number)],
    ["scheduled", "2024-05-31T16:00:00.001Z", flat],
  ]);
  expect((await changesOf(company.api, ended)).map((one) => one.status)).toEqual(["cancelled"]);
});

test("a server that starts moves what older rules of a zone had placed", async () => {
  const company = await open();
  const id = await company.subscribe(FLAT, LATER);
  await company.api("POST", `/subscriptions/${id}/cancel`, { at: "period_end" });
  const { deps } = billing.service;
  await deps.store.tx(async (q) => {
    const t = q.use(subscriptionTable);
    await q.update(t).set({ ends_at: "2024-06-01T01:00:00.000Z" }).where(eq(t.id, id));
  });
  expect(await listFollowingCompanies(deps.store.read, billing.clock.now())).toContain(company.company_id);
  const actor = { kind: "system", company_id: company.company_id } as const;
  const ctx = deps.openContext({ actor, origin: "cli", request_id: "test", address: null });
  await call(ctx, followZoneRules, {});
  expect((await get(company, id)).ends_at).toBe("2024-06-01T00:00:00.000Z");
});
