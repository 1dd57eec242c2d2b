import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type Api, type Json, type Tenant, useService } from "../../support/harness.ts";
import { addDraft, addProgram, type Loans, openLoans } from "../../loans/applications/fixtures.ts";
import {
  addWebhook,
  MovingClock,
  openReceiver,
  type Receiver,
  until,
} from "../../support/webhook_receiver.ts";

// Deliveries of loan events: what lenders see of them, in which environment, and how long they are tried.

const clock = new MovingClock();
const service = useService({ clock, env: { NODE_ENV: "development" } });
let tenant: Tenant;
let staging: Loans;
let production: Loans;
let receiver: Receiver;
let endpoint: Json;

beforeEach(async () => {
  tenant = await service.addTenant();
  staging = await openLoans(service, tenant, "staging");
  production = await openLoans(service, tenant, "production");
  receiver = openReceiver();
  endpoint = await addWebhook(tenant.api, receiver.url);
});
afterEach(() => receiver.stop());

const LOGS = "/lender/webhook-logs";

async function apply(loans: Loans): Promise<number> {
  const { id } = await addProgram(loans);
  return (await addDraft(loans, id)).id;
}

/** A lender's logs, when there are as many and none is pending. */
async function logs(lender: Api, count: number): Promise<Json[]> {
  let found: Json[] = [];
  await until(async () => {
    found = (await lender("GET", LOGS)).body.data;
    return found.length === count && found.every(({ status }) => status !== "pending");
  }, `${count} logs that are settled`);
  return found;
}

test("lenders see those of their environment, and of loans only", async () => {
  const tried = await apply(staging);
  const real = await apply(production);
  await tenant.api("POST", "/clients", { name: "Acme" });
  await receiver.calls(3);
  const [in_staging] = await logs(staging.lender, 1);
  const [in_production] = await logs(production.lender, 1);
  expect(in_staging).toMatchObject({
    event_type: "application.created",
    status: "succeeded",
    endpoint_id: endpoint.id,
    payload: { data: { id: tried, environment: "staging", status: "draft" } },
    attempts: [{ no: 1, status_code: 200 }],
  });
  expect(in_production.payload.data).toMatchObject({ id: real, environment: "production" });
  const all = (await tenant.api("GET", "/webhook-logs")).body.data;
  expect(all.map(({ event_type }: Json) => event_type).toSorted()).toEqual([
    "application.created",
    "application.created",
    "client.created",
  ]);
  expect((await staging.lender("GET", `${LOGS}/${in_staging.id}`)).body.data).toEqual(in_staging);

  const of_client = all.find(({ event_type }: Json) => event_type === "client.created");
  const stranger = await openLoans(service, await service.addTenant(), "staging");
  for (const [lender, id] of [
    [staging.lender, in_production.id],
    [production.lender, in_staging.id],
    [staging.lender, of_client.id],
    [stranger.lender, in_staging.id],
  ] as const) {
    expect((await lender("GET", `${LOGS}/${id}`)).status).toBe(404);
    expect((await lender("POST", `${LOGS}/${id}/redeliver`)).status).toBe(404);
  }
  expect((await stranger.lender("GET", LOGS)).body).toEqual({
    data: [],
    meta: { page: 1, limit: 20, total: 0, total_pages: 0 },
  });
  expect((await staging.agent("GET", LOGS)).status).toBe(403);
});

test("filters and pages narrow them further; what no loan event is called is a 422", async () => {
  for (let i = 0; i < 3; i++) await apply(staging);
  const id = await apply(staging);
  await staging.agent("POST", `/agent/applications/${id}/withdraw`);
  await logs(staging.lender, 5);
  const total = async (query: string) => (await staging.lender("GET", `${LOGS}?${query}`)).body.meta.total;
  expect(await total("event_type=application.created")).toBe(4);
  expect(await total("event_type=application.*")).toBe(5);
  expect(await total("event_type=document.*")).toBe(0);
  expect(await total("status=failed")).toBe(0);
  expect(await total(`endpoint_id=${endpoint.id}&limit=2`)).toBe(5);
  expect((await staging.lender("GET", `${LOGS}?limit=2&page=3`)).body.data).toHaveLength(1);
  for (const query of ["event_type=client.*", "event_type=nothing", "environment=production", "page=0"]) {
    const { status, body } = await staging.lender("GET", `${LOGS}?${query}`);
    expect([query, status, body.details.length]).toEqual([query, 422, 1]);
  }
});

describe("redelivery", () => {
  test("is one more attempt of the same message, in the same log", async () => {
    await apply(staging);
    const [log] = await logs(staging.lender, 1);
    const { status, body } = await staging.lender("POST", `${LOGS}/${log.id}/redeliver`);
    expect([status, body.data.id, body.data.status]).toEqual([202, log.id, "pending"]);
    const [first, second] = await receiver.calls(2);
    expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"] ?? "");
    expect(second?.text).toBe(first?.text ?? "");
    await until(async () => {
      const { data } = (await staging.lender("GET", `${LOGS}/${log.id}`)).body;
      return data.status === "succeeded" && data.attempts.length === 2;
    }, "the second attempt");
    const told = (await tenant.api("GET", "/audit-log?operation=redeliver_loan_webhook")).body.data;
    expect(told).toMatchObject([
      { actor: { kind: "key" }, target: { type: "webhook_log", id: log.id }, origin: "rest" },
    ]);
  });

  test("is a 409 while it is pending, and when its endpoint is disabled", async () => {
    receiver.answer(() => new Response("broken", { status: 500 }));
    await apply(production);
    await receiver.calls(1);
    const [log] = (await production.lender("GET", LOGS)).body.data;
    const redeliver = () => production.lender("POST", `${LOGS}/${log.id}/redeliver`);
    const pending = await redeliver();
    expect([pending.status, pending.body.error]).toEqual([
      409,
      `Cannot redeliver webhook log ${log.id}: it is pending`,
    ]);
    const { url, event_types } = endpoint;
    await tenant.api("PUT", `/webhooks/${endpoint.id}`, { url, event_types, status: "disabled" });
    const disabled = await redeliver();
    expect([disabled.status, disabled.body.error]).toEqual([
      409,
      `Cannot redeliver webhook log ${log.id}: its endpoint is disabled or deleted`,
    ]);
  });
});

test("staging is given up after three attempts, production goes on", async () => {
  receiver.answer(() => new Response("broken", { status: 500 }));
  await apply(staging);
  await apply(production);
  const attempts = async ({ lender }: Loans) =>
    (await lender("GET", LOGS)).body.data[0]?.attempts.length ?? 0;
  for (const no of [1, 2, 3]) {
    for (const loans of [staging, production])
      await until(async () => (await attempts(loans)) === no, `attempt ${no}`);
    clock.advance({ minutes: 7 });
  }
  const [tried] = await logs(staging.lender, 1);
  expect(tried).toMatchObject({ status: "failed", next_attempt_at: null });
  const [real] = (await production.lender("GET", LOGS)).body.data;
  expect(real).toMatchObject({ status: "pending", next_attempt_at: expect.any(String) });

  receiver.answer(() => new Response("thanks"));
  const again = await staging.lender("POST", `${LOGS}/${tried.id}/redeliver`);
  expect(again.status).toBe(202);
  const [sent] = await logs(staging.lender, 1);
  expect(sent).toMatchObject({ status: "succeeded" });
  expect(sent.attempts).toHaveLength(4);
});
