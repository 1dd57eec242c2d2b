import { expect, test } from "bun:test";
import { LIMITS } from "../../src/audit/limits.ts";
import { type Api, type Json, TestClock, useService } from "../support/harness.ts";

// What the log tells of who came in, what was given away, and what was refused.

const clock = new TestClock("2026-03-10T12:00:00Z");

const service = useService({ clock });

async function entries(api: Api, query = ""): Promise<Json[]> {
  return (await api("GET", `/audit-log?limit=200${query}`)).body.data;
}

/** The refusals, the oldest first, once there are so many: they are written beside the answer. */
async function refusals(api: Api, count: number): Promise<Json[]> {
  for (;;) {
    const found = (await entries(api)).filter(({ outcome }) => outcome === "refused");
    if (found.length >= count) return found.toReversed();
    await Bun.sleep(5);
  }
}

async function addClient(api: Api, name: string): Promise<number> {
  return (await api("POST", "/clients", { name })).body.data.id;
}

test("paths of another level and foreign ids are refused in writing, some a minute", async () => {
  const [tenant, other] = [await service.addTenant(), await service.addTenant()];
  const foreign = await addClient(other.api, "Theirs");
  const client_id = await addClient(tenant.api, "Acme");
  const client = await service.addUser(tenant, "client", client_id);
  expect((await client("GET", "/clients?search=x")).status).toBe(403);
  expect((await tenant.api("POST", "/usage/search", { client_ids: [foreign] })).status).toBe(403);
  const told = await refusals(tenant.api, 2);
  expect(told).toHaveLength(2);
  expect(told).toContainEqual(
    expect.objectContaining({
      operation: "use_path",
      actor: expect.objectContaining({ role: "client" }),
      input: { method: "GET", path: "/api/v1/clients" },
    }),
  );
  expect(told).toContainEqual(
    expect.objectContaining({
      operation: "search_usage",
      actor: expect.objectContaining({ role: "admin" }),
      input: { client_ids: [foreign] },
    }),
  );
  expect(await refusals(other.api, 0)).toEqual([]);
  for (let i = 0; i < 30; i++) await client("GET", "/products");
  await refusals(tenant.api, 1 + LIMITS.audit_refusals_minute);
  await addClient(tenant.api, "Later");
  expect(await refusals(tenant.api, 1)).toHaveLength(1 + LIMITS.audit_refusals_minute);
});

test("sign-ins, exports and downloads leave one each", async () => {
  const { api, admin_email, company_id } = await service.addTenant();
  const link = (await api("POST", "/usage/exports", { format: "csv" })).body.data.url;
  expect((await api("POST", "/usage/export", { format: "csv", relative: "last_month" })).status).toBe(200);
  const path = new URL(link).pathname.replace("/api/v1", "");
  expect((await service.anonymous("GET", path)).status).toBe(200);
  const [followed, exported, made] = await entries(api);
  const usage = { type: "usage", id: null };
  expect(made).toMatchObject({ operation: "create_export_link", outcome: "ok", company_id });
  expect(exported).toMatchObject({
    operation: "export_usage",
    target: usage,
    input: { format: "csv", relative: "last_month" },
  });
  expect(followed).toMatchObject({
    operation: "export_usage",
    actor: { email: admin_email },
    target: usage,
  });
  expect(await entries(api, "&operation=login")).toMatchObject([
    {
      outcome: "ok",
      origin: "rest",
      actor: { kind: "user", email: admin_email, role: "admin" },
      input: { email: admin_email },
      withheld: ["/password"],
      address: expect.stringMatching(/127\.0\.0\.1|::1/),
    },
  ]);
});
