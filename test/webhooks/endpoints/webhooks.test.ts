import { beforeAll, describe, expect, test } from "bun:test";
import { type Json, startService, type Tenant, useService } from "../../support/harness.ts";
import { addWebhook } from "../../support/webhook_receiver.ts";

let other: Tenant;

/** A port of this machine that nobody listens on. */
const HERE = "http://127.0.0.1:9/hooks";

const service = useService({ env: { NODE_ENV: "development" } });
const { api } = service;

beforeAll(async () => {
  other = await service.addTenant();
});

describe("webhooks", () => {
  test("an endpoint is created, read, replaced and deleted; its secret is shown once", async () => {
    const created = await api("POST", "/webhooks", {
      url: HERE,
      event_types: ["subscription.*", "client.created"],
      description: "Ledger",
    });
    expect(created.status).toBe(201);
    const { secret, ...webhook } = created.body.data;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(webhook).toEqual({
      id: expect.any(Number),
      company_id: service.company_id,
      url: HERE,
      event_types: ["subscription.*", "client.created"],
      description: "Ledger",
      status: "active",
      disabled_reason: null,
      created_at: expect.any(String),
      updated_at: webhook.created_at,
    });
    const path = `/webhooks/${webhook.id}`;
    expect((await api("GET", path)).body).toEqual({ data: webhook });

    const replaced = await api("PUT", path, { url: `${HERE}/2`, event_types: ["*"] });
    expect(replaced.body.data).toMatchObject({
      url: `${HERE}/2`,
      event_types: ["*"],
      description: null,
      status: "active",
    });
    const list = await api("GET", "/webhooks?search=HOOKS/2");
    expect(list.body.data.map(({ id }: Json) => id)).toEqual([webhook.id]);
    for (const answer of [replaced, list, await api("GET", "/webhooks")])
      expect(JSON.stringify(answer.body)).not.toContain("whsec_");

    const rotated = await api("POST", `${path}/rotate-secret`);
    expect(rotated).toMatchObject({ status: 200, body: { data: { id: webhook.id } } });
    expect(rotated.body.data.secret).toMatch(/^whsec_/);
    expect(rotated.body.data.secret).not.toBe(secret);

    expect(await api("DELETE", path)).toMatchObject({ status: 200, body: { data: {} } });
    for (const [method, suffix, body] of [
      ["GET", ""],
      ["PUT", "", { url: HERE, event_types: ["*"] }],
      ["DELETE", ""],
      ["POST", "/rotate-secret"],
      ["POST", "/test"],
    ] as const)
      expect((await api(method, path + suffix, body)).status, `${method} ${suffix}`).toBe(404);
  });

  test("two endpoints have two secrets", async () => {
    const secrets = await Promise.all(
      Array.from({ length: 4 }, async () => (await addWebhook(other.api, HERE)).secret),
    );
    expect(new Set(secrets).size).toBe(4);
  });

  test("status disabled stays until status active revives it", async () => {
    const { id } = await addWebhook(api, HERE);
    const put = (body: Json) => api("PUT", `/webhooks/${id}`, { url: HERE, event_types: ["*"], ...body });
    expect((await put({ status: "disabled" })).body.data).toMatchObject({
      status: "disabled",
      disabled_reason: "Disabled by a user",
    });
    expect((await put({})).body.data.status).toBe("disabled");
    expect((await api("POST", `/webhooks/${id}/test`)).body).toEqual({
      error: `Cannot test webhook ${id}: it is disabled`,
    });
    expect((await put({ status: "active" })).body.data).toMatchObject({
      status: "active",
      disabled_reason: null,
    });
  });

  test.each([
    [{ url: "https://10.0.0.1/" }, "/url"],
    [{ url: "https://169.254.169.254/latest/meta-data" }, "/url"],
    [{ url: "https://[::ffff:127.0.0.1]/" }, "/url"],
    [{ url: "http://8.8.8.8/" }, "/url"],
    [{ url: "ftp://127.0.0.1/" }, "/url"],
    [{ url: "https://me:pw@127.0.0.1/" }, "/url"],
    [{ url: `https://127.0.0.1/${"a".repeat(2_048)}` }, "/url"],
    [{ url: "" }, "/url"],
    [{ url: 7 }, "/url"],
    [{ url: undefined }, "/url"],
    [{ event_types: [] }, "/event_types"],
    [{ event_types: undefined }, "/event_types"],
    [{ event_types: "*" }, "/event_types"],
    [{ event_types: ["client.created", "client.exploded"] }, "/event_types/1"],
    [{ event_types: ["subscription."] }, "/event_types/0"],
    [{ event_types: ["sub*"] }, "/event_types/0"],
    [{ event_types: ["**"] }, "/event_types/0"],
    [{ event_types: [".*"] }, "/event_types/0"],
    [{ event_types: ["Client.created"] }, "/event_types/0"],
    [{ event_types: Array.from({ length: 101 }, () => "*") }, "/event_types"],
    [{ description: "a".repeat(1_001) }, "/description"],
    [{ secret: "whsec_AAAA" }, "/secret"],
    [{ status: "active" }, "/status"],
  ] as [Json, string][])("POST %j answers 422 at %s", async (change, path) => {
    const answer = await api("POST", "/webhooks", { url: HERE, event_types: ["*"], ...change });
    expect([answer.status, answer.body.details?.[0].path]).toEqual([422, path]);
  });

  test("PUT checks the same, and the status", async () => {
    const { id } = await addWebhook(api, HERE);
    const put = (body: Json) => api("PUT", `/webhooks/${id}`, { url: HERE, event_types: ["*"], ...body });
    for (const [change, path] of [
      [{ url: "https://192.168.0.1/" }, "/url"],
      [{ event_types: ["nothing.*"] }, "/event_types/0"],
      [{ status: "paused" }, "/status"],
    ] as const) {
      const { status, body } = await put(change);
      expect([status, body.details[0].path]).toEqual([422, path]);
    }
    expect((await api("GET", `/webhooks/${id}`)).body.data.url).toBe(HERE);
  });

  test("a company has at most 50 endpoints", async () => {
    const tenant = await service.addTenant();
    for (let i = 0; i < 50; i++) await addWebhook(tenant.api, `${HERE}/${i}`);
    const { status, body } = await tenant.api("POST", "/webhooks", { url: HERE, event_types: ["*"] });
    expect([status, body.error]).toEqual([409, "Cannot create a webhook: there are 50 already"]);
    const page = await tenant.api("GET", "/webhooks?page=3&limit=20");
    expect([page.body.data.length, page.body.meta.total]).toEqual([10, 50]);
  });

  test("another company's endpoint is not there", async () => {
    const { id } = await addWebhook(other.api, HERE);
    for (const [method, suffix, body] of [
      ["GET", ""],
      ["PUT", "", { url: HERE, event_types: ["*"] }],
      ["DELETE", ""],
      ["POST", "/rotate-secret"],
      ["POST", "/test"],
    ] as const)
      expect((await api(method, `/webhooks/${id}${suffix}`, body)).status, `${method} ${suffix}`).toBe(404);
    expect((await other.api("GET", `/webhooks/${id}`)).status).toBe(200);
  });

  test("only admins reach endpoints and logs; everyone but client users may read events", async () => {
    const { id } = await addWebhook(api, HERE);
    const client_id = (await api("POST", "/clients", { name: "Acme" })).body.data.id;
    for (const role of ["manager", "analyst", "client"] as const) {
      const user = await service.addUser(service, role, role === "client" ? client_id : undefined);
      for (const [method, path, body] of [
        ["GET", "/webhooks"],
        ["GET", `/webhooks/${id}`],
        ["POST", "/webhooks", { url: HERE, event_types: ["*"] }],
        ["PUT", `/webhooks/${id}`, { url: HERE, event_types: ["*"] }],
        ["DELETE", `/webhooks/${id}`],
        ["POST", `/webhooks/${id}/rotate-secret`],
        ["POST", `/webhooks/${id}/test`],
        ["GET", "/webhook-logs"],
        ["GET", "/webhook-logs/1"],
        ["POST", "/webhook-logs/1/redeliver"],
      ] as const)
        expect((await user(method, path, body)).status, `${role} ${method} ${path}`).toBe(403);
      expect((await user("GET", "/events")).status, role).toBe(role === "client" ? 403 : 200);
    }
    expect((await service.anonymous("GET", "/webhooks")).status).toBe(401);
  });
});

test("in production this machine is refused, by whatever spelling", async () => {
  const production = await startService();
  for (const url of [
    HERE,
    "https://127.0.0.1/",
    "https://localhost/",
    "https://localhost./",
    "https://api.localhost/",
    "https://0x7f.1/",
    "https://2130706433/",
    "https://[::1]/",
  ]) {
    const { status, body } = await production.api("POST", "/webhooks", { url, event_types: ["*"] });
    expect([status, body.details?.[0].path], url).toEqual([422, "/url"]);
  }
  await production.stop();
});
