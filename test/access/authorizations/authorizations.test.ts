import { beforeEach, describe, expect, test } from "bun:test";
import { call } from "../../../src/app/operation.ts";
import { authorizationTable } from "../../../src/access/authorizations/tables.ts";
import { authorizationRequestTable, authorizationTokenTable } from "../../../src/access/oauth/tables.ts";
import { createClient } from "../../../src/billing/clients/service.ts";
import { type Service, type Json, TestClock, useService } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { OAuthClient, open, pkce, REDIRECT } from "../oauth/fixtures.ts";

const NOW = "2026-03-10T12:00:00Z";
const clock = new TestClock(NOW);
const service = useService({ clock });
let agent: OAuthClient;

beforeEach(async () => {
  clock.set(NOW);
  agent = await OAuthClient.register(service);
});

async function mine(place: Pick<Service, "api"> = service): Promise<Json[]> {
  return (await place.api("GET", "/me/authorizations")).body.data;
}

describe("/me/authorizations", () => {
  test("lists what the user granted, the last first, and ends it at once", async () => {
    const tenant = await service.addTenant();
    const first = await agent.authorize(tenant.admin_email);
    const second = await agent.authorize(tenant.admin_email);
    const [last, earlier, ...others] = await mine(tenant);
    expect(others).toEqual([]);
    expect(last).toEqual({
      id: expect.any(Number),
      agent_name: "Test agent",
      redirect_uri: REDIRECT,
      scope: "mcp:tools",
      created_at: "2026-03-10T12:00:00.000Z",
      updated_at: "2026-03-10T12:00:00.000Z",
      expires_at: "2026-04-09T12:00:00.000Z",
    });
    const gone = await tenant.api("DELETE", `/me/authorizations/${earlier.id}`);
    expect([gone.status, gone.body]).toEqual([200, { data: {} }]);
    expect(await service.deps.authenticateAccessToken(first.access_token).catch(({ kind }) => kind)).toBe(
      "unauthorized",
    );
    expect((await agent.refresh(first.refresh_token)).body.error).toBe("invalid_grant");
    expect((await service.deps.authenticateAccessToken(second.access_token)).kind).toBe("user");
    expect(await mine(tenant)).toEqual([last]);
    expect((await tenant.api("DELETE", `/me/authorizations/${earlier.id}`)).status).toBe(404);
    const [entry] = (await tenant.api("GET", "/audit-log?operation=end_authorization")).body.data;
    expect(entry).toMatchObject({
      actor: { email: tenant.admin_email, authorization_id: null },
      origin: "rest",
      target: { type: "authorization", id: earlier.id },
    });
  });

  test("is for every level, and shows and ends nobody else's, of the same company neither", async () => {
    const tenant = await service.addTenant();
    const { id: client_id } = (await tenant.api("POST", "/clients", { name: "Acme" })).body.data;
    const users = [
      await service.addUser(tenant, "analyst"),
      await service.addUser(tenant, "client", client_id),
    ];
    for (const api of users) {
      await agent.authorize((await api("GET", "/me")).body.data.email);
      const [own, ...others] = await mine({ api });
      expect(others).toEqual([]);
      for (const other of [service.api, tenant.api])
        expect((await other("DELETE", `/me/authorizations/${own.id}`)).status).toBe(404);
      expect(await mine({ api })).toEqual([own]);
    }
    expect(await mine(tenant)).toEqual([]);
  });

  test("has pages", async () => {
    const tenant = await service.addTenant();
    for (let i = 0; i < 3; i++) await agent.authorize(tenant.admin_email);
    const { body } = await tenant.api("GET", "/me/authorizations?page=2&limit=2");
    expect(body.data).toHaveLength(1);
    expect(body.meta).toEqual({ page: 2, limit: 2, total: 3, total_pages: 2 });
  });

  test("leaves out what was never taken up, and what has expired", async () => {
    const tenant = await service.addTenant();
    await agent.code(tenant.admin_email);
    clock.set("2026-03-10T12:01:00Z");
    const api = await service.signIn(tenant.admin_email);
    expect(await mine({ api })).toEqual([]);
    await agent.authorize(tenant.admin_email);
    expect(await mine({ api })).toHaveLength(1);
    clock.set("2026-04-09T12:01:00Z");
    expect(await mine({ api: await service.signIn(tenant.admin_email) })).toEqual([]);
  });

  test("wants a token", async () => {
    expect((await service.anonymous("GET", "/me/authorizations")).status).toBe(401);
    expect((await service.anonymous("DELETE", "/me/authorizations/1")).status).toBe(401);
  });
});

describe("the audit log", () => {
  test("tells what an agent did as such, with the authorization that it did it by", async () => {
    const { access_token } = await agent.authorize(service.admin_email);
    const actor = await service.deps.authenticateAccessToken(access_token);
    const ctx = service.deps.openContext({ actor, origin: "mcp", request_id: "by an agent", address: null });
    const { id } = await call(ctx, createClient, { name: "Acme" });
    const [entry] = (await service.api("GET", "/audit-log?origin=mcp&operation=create_client")).body.data;
    expect(entry).toMatchObject({
      actor: { kind: "user", email: service.admin_email, authorization_id: (await mine())[0].id },
      origin: "mcp",
      target: { type: "client", id },
    });
  });
});

describe("what is forgotten", () => {
  async function prune(now: string): Promise<void> {
    clock.set(now);
    await runNamedJob(service, "authorizations_prune");
  }

  /** Whether the agent may still show its page: it is registered. */
  async function isKnown(other: OAuthClient): Promise<boolean> {
    return (await open(other.url(pkce().challenge))).status === 200;
  }

  async function rows(): Promise<Record<string, number>> {
    const { read } = service.deps.store;
    const authorization_requests = read.use(authorizationRequestTable);
    const authorizations = read.use(authorizationTable);
    const authorization_tokens = read.use(authorizationTokenTable);
    return {
      requests: await read.$count(authorization_requests),
      authorizations: await read.$count(authorizations),
      tokens: await read.$count(authorization_tokens),
    };
  }

  test("an agent that nobody has authorized for 24 hours", async () => {
    const used = await OAuthClient.register(service);
    await used.authorize(service.admin_email);
    await prune("2026-03-11T11:59:59Z");
    expect([await isKnown(agent), await isKnown(used)]).toEqual([true, true]);
    await prune("2026-03-11T12:00:00Z");
    expect([await isKnown(agent), await isKnown(used)]).toEqual([false, true]);
  });

  test("an agent 90 days after its last authorization ended", async () => {
    const [revoked, expired] = [agent, await OAuthClient.register(service)];
    const { refresh_token } = await revoked.authorize(service.admin_email);
    await expired.authorize(service.admin_email);
    await revoked.revoke(refresh_token);
    await prune("2026-06-08T11:59:59Z");
    expect([await isKnown(revoked), await isKnown(expired)]).toEqual([true, true]);
    await prune("2026-06-08T12:00:00Z");
    expect([await isKnown(revoked), await isKnown(expired)]).toEqual([false, true]);
    // The refresh token's 30 days, and 90 more.
    await prune("2026-07-08T11:59:59Z");
    expect(await isKnown(expired)).toBe(true);
    await prune("2026-07-08T12:00:00Z");
    expect(await isKnown(expired)).toBe(false);
  });

  test("pages, codes and tokens after their end, and none that hold", async () => {
    await prune("2027-03-10T12:00:00Z");
    expect(await rows()).toEqual({ requests: 0, authorizations: 0, tokens: 0 });
    const other = await OAuthClient.register(service);
    const { refresh_token } = await other.authorize(service.admin_email);
    await open(other.url(pkce().challenge));
    expect(await rows()).toEqual({ requests: 1, authorizations: 1, tokens: 3 });
    await prune("2027-03-11T12:01:00Z");
    // A used code is remembered for a day, the access token for a day after its eight hours.
    expect(await rows()).toEqual({ requests: 0, authorizations: 1, tokens: 2 });
    await prune("2027-03-11T20:00:00Z");
    expect(await rows()).toEqual({ requests: 0, authorizations: 1, tokens: 1 });
    expect((await other.refresh(refresh_token)).status).toBe(200);
  });
});
