import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { JOBS } from "../../src/server/jobs.ts";
import { type Api, type Service, type Json, startService, TestClock } from "../support/harness.ts";
import { runNamedJob } from "../support/jobs.ts";
import { openReceiver, type Receiver } from "../support/webhook_receiver.ts";

const clock = new TestClock("2026-03-10T12:00:00Z");
let service: Service;
let receiver: Receiver;

beforeAll(async () => {
  receiver = openReceiver();
  service = await startService({ clock, env: { NODE_ENV: "development" } });
});
afterAll(async () => {
  await service.stop();
  await receiver.stop();
});

/** Operation, target and changes of each entry, oldest first. */
async function auditEntries(api: Api): Promise<Json[]> {
  const { body } = await api("GET", "/audit-log?limit=200");
  return body.data
    .toReversed()
    .map(({ operation, target, changes }: Json) => [operation, target.type, target.id, changes]);
}

async function add(api: Api, path: string, body: object): Promise<Json> {
  const answer = await api("POST", path, body);
  expect([path, answer.status < 300]).toEqual([path, true]);
  return answer.body.data;
}

function plan(api: Api, monthly_credits: number): Promise<Json> {
  const credit_plan = { monthly_credits, credit_consumption: "per_unit", overage_rate: null };
  const name = `${monthly_credits} credits`;
  return add(api, "/billing-models", {
    billing_type_id: 6,
    name,
    price: 1,
    currency: "USD",
    description: "",
    credit_plan,
  });
}

/** A subscription on the first of three credit plans. */
async function subscribe(api: Api) {
  const [small, middle, large] = [await plan(api, 100), await plan(api, 200), await plan(api, 300)];
  const client = await add(api, "/clients", { name: "Acme" });
  const product = await add(api, "/products", { name: "Tokens" });
  const subscription = await add(api, "/subscriptions", {
    name: "S",
    external_subscription_id: crypto.randomUUID(),
    client_id: client.id,
    product_id: product.id,
    billing_model_id: small.id,
    started_at: "2026-03-01T00:00:00Z",
  });
  return { id: subscription.id, small, middle, large };
}

describe("what an entry is about", () => {
  test("an upgrade, a downgrade and a cancellation name the change", async () => {
    const { api } = await service.addTenant();
    const { id, small, middle } = await subscribe(api);
    const up = await add(api, `/subscriptions/${id}/upgrade`, { new_billing_model_id: middle.id });
    const down = await add(api, `/subscriptions/${id}/downgrade`, { new_billing_model_id: small.id });
    await api("DELETE", `/subscriptions/${id}/billing-model-changes/${down.id}`);
    expect((await auditEntries(api)).slice(-3)).toEqual([
      ["upgrade_subscription", "billing_model_change", up.id, null],
      ["downgrade_subscription", "billing_model_change", down.id, null],
      ["cancel_billing_model_change", "billing_model_change", down.id, null],
    ]);
  });

  test("a webhook's test and redelivery name the log, all else the webhook, an update what it changed", async () => {
    const { api } = await service.addTenant();
    const path = `/webhooks/${(await add(api, "/webhooks", { url: receiver.url, event_types: ["*"] })).id}`;
    const id = Number(path.split("/").at(-1));
    const log = await add(api, `${path}/test`, {});
    while ((await api("GET", `/webhook-logs/${log.id}`)).body.data.status === "pending") await Bun.sleep(50);
    await add(api, `/webhook-logs/${log.id}/redeliver`, {});
    await add(api, `${path}/rotate-secret`, {});
    const change = { url: receiver.url, event_types: ["client.*"], status: "disabled" };
    expect((await api("PUT", path, change)).status).toBe(200);
    expect((await api("DELETE", path)).status).toBe(200);
    const changes = {
      event_types: { old: ["*"], new: ["client.*"] },
      status: { old: "active", new: "disabled" },
      disabled_reason: { old: null, new: "Disabled by a user" },
    };
    expect((await auditEntries(api)).slice(-6)).toEqual([
      ["create_webhook", "webhook", id, null],
      ["test_webhook", "webhook_log", log.id, null],
      ["redeliver_webhook", "webhook_log", log.id, null],
      ["rotate_webhook_secret", "webhook", id, null],
      ["update_webhook", "webhook", id, changes],
      ["delete_webhook", "webhook", id, null],
    ]);
  });

  test("a form's update tells what it changed", async () => {
    const tenant = await service.addTenant();
    const client = await add(tenant.api, "/clients", { name: "Acme" });
    const my = await service.addUser(tenant, "client", client.id);
    const config = { title: "T", fields: [{ name: "a", label: "A", type: "text" }] };
    const form = await add(my, "/my/forms", { name: "Old", config });
    expect((await my("PUT", `/my/forms/${form.id}`, { name: "New", config })).status).toBe(200);
    const changes = { name: { old: "Old", new: "New" } };
    expect((await auditEntries(tenant.api)).at(-1)).toEqual(["update_form", "form", form.id, changes]);
  });
});

describe("what the system does", () => {
  test("a scheduled change that is applied has an entry of its own, whoever finds it due", async () => {
    const tenant = await service.addTenant();
    const { api } = tenant;
    const [one, two, refused] = [await subscribe(api), await subscribe(api), await subscribe(api)];
    const effective_at = "2026-03-10T12:00:05Z";
    const changes: Json[] = [];
    for (const { id, large } of [one, two, refused]) {
      const body = { new_billing_model_id: large.id, effective_at };
      changes.push(await add(api, `/subscriptions/${id}/billing-model-changes`, body));
    }
    const before = (await auditEntries(api)).length;
    clock.set("2026-03-10T12:00:06Z");
    // Finds the change due, applies it, and is refused for what was asked: no more credits than it has now.
    const upgrade = { new_billing_model_id: refused.large.id };
    const answer = await api("POST", `/subscriptions/${refused.id}/upgrade`, upgrade, {
      "idempotency-key": "upgrade",
    });
    expect(answer.status).toBe(422);
    await runNamedJob(service, "billing_model_changes");
    const { body } = await api("GET", "/audit-log?operation=apply_billing_model_change");
    const applied = new Map(body.data.map(({ target, actor }: Json) => [target.id, actor.kind]));
    expect(applied).toEqual(new Map(changes.map(({ id }) => [id, "system"])));
    expect((await auditEntries(api)).length).toBe(before + changes.length);
  });

  test("housekeeping leaves no entry", async () => {
    const before = (await auditEntries(service.api)).length;
    for (const name of ["event_prune", "webhook_log_prune", "credit_thresholds", "billing_model_changes"]) {
      await runNamedJob(service, name);
    }
    expect((await auditEntries(service.api)).length).toBe(before);
  });

  test("every job is there once", () => {
    const names = JOBS.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
  });
});
