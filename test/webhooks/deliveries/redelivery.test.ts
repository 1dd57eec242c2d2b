import { expect, test } from "bun:test";
import { addDraft, lead, openLoans, addProgram } from "../../loans/applications/fixtures.ts";
import { type Api, type Json, useService } from "../../support/harness.ts";
import { addWebhook, openReceiver, until } from "../../support/webhook_receiver.ts";

const service = useService({ env: { NODE_ENV: "development" } });

const count = async (api: Api, query: string) =>
  (await api("GET", `/webhook-logs?limit=1&${query}`)).body.meta.total;
const ended = (api: Api, status: string, total: number) =>
  until(async () => (await count(api, `status=${status}`)) === total, `${total} ${status} deliveries`);
const redeliver = async (api: Api, body: Json = {}, path = "/webhook-logs/redeliver") => {
  const answer = await api("POST", path, body);
  expect([answer.status, answer.body.error]).toEqual([202, undefined]);
  return answer.body.data;
};

test("all that failed are sent again once their endpoint is enabled, some at a time", async () => {
  const { api } = await service.addTenant();
  const receiver = openReceiver();
  const { id } = await addWebhook(api, receiver.url, ["client.*"]);
  const other = await addWebhook(api, receiver.url, ["product.created"]);
  await api("POST", "/products", { name: "Tokens" });
  await ended(api, "succeeded", 1);
  receiver.answer(() => new Response("gone", { status: 410 }));
  for (let i = 0; i < 5; i++) {
    await api("POST", "/clients", { name: `Acme ${i}` });
    await ended(api, "failed", i + 1);
    if (i < 4) expect((await api("POST", `/webhooks/${id}/enable`)).body.data.status).toBe("active");
  }
  receiver.answer(() => new Response("thanks"));
  // Disabled, as it answered 410: nothing is lost by asking too early.
  expect(await redeliver(api)).toEqual({ redelivered: 0, passed_over: 5, next_after_id: null });
  const enabled = await api("POST", `/webhooks/${id}/enable`);
  expect([enabled.status, enabled.body.data.status, enabled.body.data.disabled_reason]).toEqual([
    200,
    "active",
    null,
  ]);
  const { data: failed } = (await api("GET", "/webhook-logs?status=failed")).body;
  const [newest, , , , oldest] = failed;
  const before = receiver.received.length;
  const some = { endpoint_id: id, event_type: "client.created", limit: 2 };
  const first = await redeliver(api, some);
  expect(first).toEqual({ redelivered: 2, passed_over: 0, next_after_id: oldest.id + 1 });
  const second = await redeliver(api, { ...some, after_id: first.next_after_id });
  expect(second).toMatchObject({ redelivered: 2, next_after_id: newest.id - 1 });
  expect(await redeliver(api, { ...some, after_id: second.next_after_id })).toEqual({
    redelivered: 1,
    passed_over: 0,
    next_after_id: null,
  });
  const calls = await receiver.calls(before + 5);
  const sent = calls.slice(before).map(({ headers }) => headers["webhook-id"]);
  expect(new Set(sent)).toEqual(new Set(failed.map(({ message_id }: Json) => message_id)));
  await ended(api, "succeeded", 6);
  // What arrived is sent again on demand only, and what matches nothing sends nothing.
  expect(await redeliver(api)).toMatchObject({ redelivered: 0 });
  expect(await redeliver(api, { status: "succeeded", endpoint_id: other.id })).toMatchObject({
    redelivered: 1,
  });
  expect(await redeliver(api, { status: "succeeded", to: "2020-01-01T00:00:00Z" })).toMatchObject({
    redelivered: 0,
  });
  await receiver.stop();
});

test("refused: whose it is not, what is no filter, and who may not", async () => {
  const { api } = await service.addTenant();
  const receiver = openReceiver();
  receiver.answer(() => new Response("gone", { status: 410 }));
  const { id } = await addWebhook(api, receiver.url, ["client.created"]);
  await api("POST", "/clients", { name: "Acme" });
  await ended(api, "failed", 1);
  const stranger = await service.addTenant();
  expect((await stranger.api("POST", `/webhooks/${id}/enable`)).status).toBe(404);
  expect(await redeliver(stranger.api, { endpoint_id: id })).toMatchObject({
    redelivered: 0,
    passed_over: 0,
  });
  expect(await count(api, "status=failed")).toBe(1);
  for (const [body, path] of [
    [{ status: "pending" }, "/status"],
    [{ event_type: "nothing.*" }, "/event_type"],
    [{ limit: 1_001 }, "/limit"],
    [{ limit: 0 }, "/limit"],
    [{ endpoint: 7 }, "/endpoint"],
  ] as [object, string][]) {
    const { status, body: said } = await api("POST", "/webhook-logs/redeliver", body);
    expect([status, said.details?.[0]?.path]).toEqual([422, path]);
  }
  const manager = await service.addUser(service, "manager");
  expect((await manager("POST", "/webhook-logs/redeliver", {})).status).toBe(403);
  expect((await manager("POST", `/webhooks/${id}/enable`)).status).toBe(403);
  await api("DELETE", `/webhooks/${id}`);
  expect((await api("POST", `/webhooks/${id}/enable`)).status).toBe(404);
  expect(await redeliver(api)).toMatchObject({ redelivered: 0, passed_over: 1 });
  await receiver.stop();
});

test("a lender sees, enables and redelivers what is of loans, in its environment", async () => {
  const tenant = await service.addTenant();
  const { api } = tenant;
  const receiver = openReceiver();
  const other = await addWebhook(api, receiver.url, ["client.created"]);
  const of_loans = await addWebhook(api, receiver.url, ["application.*"]);
  const staging = await openLoans(service, tenant, "staging");
  const production = await openLoans(service, tenant);
  receiver.answer(() => new Response("gone", { status: 410 }));
  const program = await addProgram(staging);
  const { id } = await addDraft(staging, program.id);
  await lead(staging, id, "submitted");
  await until(async () => (await count(api, "status=failed")) > 0, "failed deliveries");
  await until(async () => (await count(api, "status=pending")) === 0, "no pending deliveries");
  const list = async (of: Api, path = "/lender/webhooks") =>
    (await of("GET", `${path}?with=figures`)).body.data.map((one: Json) => [one.id, one.status]);
  expect(await list(staging.lender)).toEqual([[of_loans.id, "disabled"]]);
  const officer = await service.addUser(tenant, "loan_officer");
  expect(await list(officer, "/lending/staging/webhooks")).toEqual([[of_loans.id, "disabled"]]);
  expect((await staging.agent("POST", `/lender/webhooks/${of_loans.id}/enable`)).status).toBe(403);
  // It hears of production too, which is not for staging to decide on.
  for (const [of, enable] of [
    [staging.lender, `/lender/webhooks/${of_loans.id}/enable`],
    [officer, `/lending/staging/webhooks/${of_loans.id}/enable`],
  ] as const) {
    const { status, body } = await of("POST", enable);
    expect([status, body.error]).toEqual([403, expect.stringContaining("in staging")]);
  }
  expect(await list(officer, "/lending/staging/webhooks")).toEqual([[of_loans.id, "disabled"]]);
  expect((await production.lender("POST", `/lender/webhooks/${other.id}/enable`)).status).toBe(404);
  expect((await production.lender("POST", `/lender/webhooks/${of_loans.id}/enable`)).status).toBe(200);
  receiver.answer(() => new Response("thanks"));
  const path = "/lender/webhook-logs/redeliver";
  expect(await redeliver(production.lender, {}, path)).toMatchObject({ redelivered: 0 });
  const failed = await count(api, "status=failed");
  expect(await redeliver(staging.lender, { event_type: "application.*" }, path)).toEqual({
    redelivered: failed,
    passed_over: 0,
    next_after_id: null,
  });
  expect((await staging.lender("POST", path, { event_type: "client.*" })).status).toBe(422);
  await ended(api, "succeeded", failed);
  await receiver.stop();
});
