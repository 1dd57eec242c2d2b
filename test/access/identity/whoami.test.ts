import { describe, expect, test } from "bun:test";
import { whoami } from "../../../src/access/identity/service.ts";
import { call } from "../../../src/app/operation.ts";
import { KEY_ROLES } from "../../../src/core/access.ts";
import { TestClock, useService } from "../../support/harness.ts";
import { addMachine } from "../api_keys/fixtures.ts";
import { OAuthClient } from "../oauth/fixtures.ts";

// One question, whoever asks. The clock stands in the hour that New York has twice.

const NOW = "2026-11-01T06:30:00Z";
const clock = new TestClock(NOW);
const service = useService({ clock, timezone: "America/New_York", currency: "USD" });
const HERE = { timezone: "America/New_York", currency: "USD", now: "2026-11-01T06:30:00.000Z" };

describe("GET /whoami", () => {
  test("names a company user, its role, its permissions, and the time where the company is", async () => {
    const { status, body } = await service.api("GET", "/whoami");
    const me = (await service.api("GET", "/me")).body.data;
    expect(status).toBe(200);
    expect(body.data).toEqual({
      credential: "user_token",
      role: "admin",
      permissions: me.permissions,
      user: { id: me.id, email: service.admin_email, name: null },
      api_key: null,
      agent: null,
      company: { id: service.company_id, name: "Company 1" },
      client: null,
      environment: null,
      ...HERE,
      local_now: "2026-11-01T01:30:00.000-05:00",
    });
  });

  test("names a client user's client, and none of its company's permissions", async () => {
    const { id } = (await service.api("POST", "/clients", { name: "Acme" })).body.data;
    const api = await service.addUser(service, "client", id);
    const { data } = (await api("GET", "/whoami")).body;
    expect([data.role, data.client]).toEqual(["client", { id, name: "Acme" }]);
    expect(data.permissions).toContain("billing:read");
    expect(data.permissions).not.toContain("clients:read");
  });

  test.each([...KEY_ROLES])("names an API key of the role %s", async (role) => {
    const { api, key } = await addMachine(service, service, role);
    const { status, body } = await api("GET", "/whoami");
    expect(status).toBe(200);
    expect(body.data).toMatchObject({
      credential: "api_key",
      role,
      user: null,
      agent: null,
      client: null,
      api_key: { id: key.id, name: key.name },
      environment: key.environment,
      company: { id: service.company_id },
      ...HERE,
    });
    // Another company's key is another company's.
    const other = await service.addTenant({ timezone: "Asia/Kathmandu", currency: "NPR" });
    const foreign = await addMachine(service, other, role);
    const { data } = (await foreign.api("GET", "/whoami")).body;
    expect([data.company.id, data.local_now]).toEqual([other.company_id, "2026-11-01T12:15:00.000+05:45"]);
  });

  test("refuses a caller without a token", async () => {
    expect((await service.anonymous("GET", "/whoami")).status).toBe(401);
  });

  test("says of an OAuth client's call for whom it is", async () => {
    const agent = await OAuthClient.register(service);
    const { access_token } = await agent.authorize(service.admin_email);
    const actor = await service.deps.authenticateAccessToken(access_token);
    const ctx = service.deps.openContext({ actor, origin: "mcp", request_id: "test", address: null });
    expect(await call(ctx, whoami, {})).toMatchObject({
      credential: "oauth_grant",
      role: "admin",
      user: { email: service.admin_email },
      agent: { name: "Test agent" },
    });
  });
});
