import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Elysia } from "elysia";
import { KEY_ROLES } from "../../../src/core/access.ts";
import { buildApp } from "../../../src/server/http_app.ts";
import { endpoint, routes as serveRoutes } from "../../../src/http/route.ts";
import { type Api, type Json, useService } from "../../support/harness.ts";
import { addMachine, serve, withToken } from "./fixtures.ts";

// Which token opens which path, over all paths.

const service = useService();
let client_user: Api;

beforeAll(async () => {
  const { id } = (await service.api("POST", "/clients", { name: "Acme" })).body.data;
  client_user = await service.addUser(service, "client", id);
});

interface Route {
  method: string;
  path: string;
  /** Whether it needs no sign-in, and so heeds no token: it says so in the documentation. */
  is_open: boolean;
}

/** Every path under /api/v1, ids filled in, with its methods. */
function routes(): Route[] {
  return buildApp(service.deps)
    .routes.filter(({ path }) => path.startsWith("/api/v1/"))
    .map(({ method, path, hooks }) => ({
      method,
      path: path.slice("/api/v1".length).replace(/\/$/, "").replaceAll(/:\w+/g, "1"),
      is_open: hooks.detail?.security?.length === 0,
    }));
}

/** The paths that take access tokens of OAuth clients and no other. */
const MCP = /^POST \/mcp\b/;

/** Whether the audience of the path is the reason for a refusal: the operation may have others. */
function isForAudience({ error }: Json): boolean {
  return /^This path is for .*; yours (are|is) /.test(error);
}

/** The audiences of a path. */
function audiencesOf(path: string): string[] {
  const [, first, second = "", third] = path.split("/");
  if (first === "whoami") return [...KEY_ROLES];
  if (first === "usage" && second === "events" && third === undefined) return ["ingest", "gateway"];
  if (first === "usage" && ["check", "reservations"].includes(second)) return ["gateway"];
  return [audienceOf(path)];
}

/** The audience of a path that is for one. */
function audienceOf(path: string): "lender" | "agent" | "ingest" | "users" {
  const [, first, second, third] = path.split("/");
  if (first === "lender" || first === "agent") return first;
  // Files that are uploaded, to be looked at and run by people.
  if (second === "imports" && third !== undefined) return "users";
  return first === "usage" && ["import", "imports"].includes(second ?? "") ? "ingest" : "users";
}

describe("a key's token", () => {
  test.each([...KEY_ROLES])("of the role %s opens its own paths only: elsewhere 403", async (role) => {
    const machine = await addMachine(service, service, role);
    const wrong: unknown[] = [];
    const all = routes();
    expect(all.length).toBeGreaterThan(80);
    const open = all.filter(({ is_open }) => is_open);
    expect(open.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["/login", "/auth/token", "/usage/exports/1"]),
    );
    for (const { method, path, is_open } of all) {
      const name = `${method} ${path}`;
      const { status, body } = await machine.api(method, path, method === "GET" ? undefined : {});
      const is_refused = MCP.test(name) ? status === 401 : status === 403 && isForAudience(body);
      const is_own = audiencesOf(path).includes(role) || is_open;
      if (is_refused === is_own) wrong.push({ name, status });
    }
    expect(wrong).toEqual([]);
  });

  test("is a 403 before the body is looked at, and no reason to sign in again", async () => {
    const { api } = await addMachine(service, service, "lender");
    const { status, body, headers } = await api("POST", "/clients", "{not json");
    expect([status, headers.get("www-authenticate")]).toEqual([403, null]);
    expect(body.error).toBe("This path is for company users; yours are under /lender");
  });
});

describe("a login token", () => {
  test("opens no path of machines: 403 on each of them, for company and client users", async () => {
    const wrong: unknown[] = [];
    const machines = routes().filter(({ path }) => ["lender", "agent"].includes(audienceOf(path)));
    for (const { method, path } of machines) {
      for (const api of [service.api, client_user]) {
        const { status, body } = await api(method, path, method === "GET" ? undefined : {});
        if (status !== 403 || !isForAudience(body)) wrong.push({ method, path, status });
      }
    }
    expect(wrong).toEqual([]);
  });
});

describe("the paths of each role, whatever is behind them", () => {
  const roles = [...KEY_ROLES];
  let served: ReturnType<typeof serve>;
  beforeAll(() => {
    const app = new Elysia();
    for (const role of roles) {
      const said = { response: {}, detail: { summary: "Who calls" } };
      app.use(
        serveRoutes({ tag: "Tests", admits: role }, [
          endpoint(`GET /${role}`, said, async ({ ctx }) => ({ actor: ctx.actor })),
          {
            method: "POST",
            path: `/${role}`,
            schemas: { response: {} },
            detail: said.detail,
            reads_body: true,
            is_list: false,
            run: async ({ input }) => ({ status: 200, answer: { input } }),
          },
        ])(service.deps),
      );
    }
    served = serve(service, app);
  });
  afterAll(() => served.stop());

  const cases = roles.flatMap((role) => roles.map((audience) => [role, audience] as const));
  test.each(cases)("a token of the role %s at the paths of %s", async (role, audience) => {
    const environment = ["ingest", "gateway"].includes(role) ? "production" : "staging";
    const { key, token } = await addMachine(service, service, role, environment);
    const api = withToken(served, token);
    const { status, body } = await api("GET", `/${audience}`);
    expect(status).toBe(role === audience ? 200 : 403);
    const { id: key_id } = key;
    const actor = {
      kind: "key",
      key_id,
      agent_key_id: key_id,
      company_id: service.company_id,
      role,
      environment,
    };
    if (role === audience) expect(body.actor).toEqual(actor);
    else expect(body.error).toStartWith("This path is for API keys ");
  });

  test.each(roles)("users and strangers at the paths of %s", async (audience) => {
    const login = { email: service.admin_email, password: "correct horse battery" };
    const { token } = (await service.anonymous("POST", "/login", login)).body;
    const user = withToken(served, token);
    expect((await user("GET", `/${audience}`)).status).toBe(403);
    expect((await user("POST", `/${audience}`, "{not json")).status).toBe(403);
    expect((await withToken(served, "abc")("GET", `/${audience}`)).status).toBe(401);
  });
});

describe("usage", () => {
  test("is sent by company users and by keys for ingest and of gateways; a client user is told where its paths are", async () => {
    const { status, body } = await client_user("POST", "/usage/events", {});
    expect([status, body.error]).toEqual([
      403,
      "This path is for company users, API keys for ingest and API keys of gateways; yours are under /my",
    ]);
    expect((await service.api("POST", "/usage/events", [])).status).not.toBe(403);
  });
});
