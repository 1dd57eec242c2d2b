import { beforeAll, expect, test } from "bun:test";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { type Json, useService } from "../support/harness.ts";

const service = useService();
let document: Json;

beforeAll(async () => {
  document = (await service.anonymous("GET", "origin:/openapi.json")).body;
});

interface Place {
  name: string;
  method: string;
  path: string;
  operation: Json;
}

function operations(): Place[] {
  return Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, operation]) => ({
      name: `${method} ${path}`,
      method,
      path,
      operation,
    })),
  );
}

test("the document passes a public linter with its recommended rules", async () => {
  // The probes have nothing to refuse, and one route only leads elsewhere; the tests below hold every route to its
  // answers.
  const rules = { "operation-4xx-response": "off", "operation-2xx-response": "off" } as const;
  const config = await createConfig({ extends: ["recommended"], rules });
  const problems = await lintFromString({ source: JSON.stringify(document), config });
  expect(
    problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} (${location[0]?.pointer})`),
  ).toEqual([]);
});

/** Whose token a route takes: a user's, a machine's, or both. */
function schemesOf(name: string): Json[] {
  if (name === "get /metrics") return [{ metrics: [] }];
  if (/^\w+ \/api\/v1\/(lender|agent)\//.test(name)) return [{ apiKey: [] }];
  return /whoami$|usage.(events|imports?|check|reservations.\{id\})$/.test(name)
    ? [{ bearer: [] }, { apiKey: [] }]
    : [{ bearer: [] }];
}

test("every route has a summary, a tag, an answer with a schema, and the bearer scheme or none", () => {
  expect(operations().length).toBeGreaterThan(15);
  const probes = ["get /health", "get /ready"];
  const isOpen = (name: string) =>
    [
      "post /api/v1/login",
      "post /api/v1/session",
      "post /api/v1/user-links/read",
      "post /api/v1/user-links/accept",
      "post /api/v1/auth/token",
      "get /api/v1/usage/exports/{link}",
      ...probes,
    ].includes(name) ||
    /^\w+ \/(oauth|\.well-known|api\/v1\/emandate\/(callbacks|authorizations))\//.test(name);
  const leads_on = "post /api/v1/emandate/callbacks/fpx/return";
  for (const { name, operation } of operations()) {
    expect(operation.summary, name).toBeString();
    expect(operation.tags, name).toHaveLength(1);
    expect(
      document.tags.map((tag: Json) => tag.name),
      name,
    ).toContain(operation.tags[0]);
    const success = Object.entries<Json>(operation.responses).find(([status]) => status.startsWith("2"));
    if (name === leads_on) expect(operation.responses["303"].headers.location).toBeObject();
    else expect(success?.[1].content, name).toBeObject();
    expect(operation.security ?? document.security, name).toEqual(isOpen(name) ? [] : schemesOf(name));
  }
});

test("every route under /api/v1 tells its errors, and those with a body describe it", () => {
  for (const { name, method, path, operation } of operations()) {
    if (!path.startsWith("/api/v1")) continue;
    for (const status of ["401", "422", "429", "500"]) {
      const schema = operation.responses[status]?.content["application/json"].schema.$ref;
      expect(schema, `${name} ${status}`).toMatch(/\/(Error|ValidationError|UsageError|SubmissionError)$/);
    }
    if (path.includes("{id}")) expect(operation.responses["404"], name).toBeObject();
    const bodyless = ["get", "delete"].includes(method) || path === "/api/v1/logout";
    // A balance is refused with a 400 too: the interface says so.
    const refusals = path.endsWith("/credits") ? ["413", "415"] : ["400", "413", "415"];
    for (const status of refusals) {
      expect(operation.responses[status] === undefined, `${name} ${status}`).toBe(bodyless);
    }
    const bodies = Object.values<Json>(operation.requestBody?.content ?? {});
    expect(bodies.length > 0 && bodies.every(({ schema }) => schema !== undefined), name).toBe(!bodyless);
  }
});

test("path ids and page numbers are shown as integers, dates as date-times", () => {
  const get = document.paths["/api/v1/clients/{id}"].get;
  expect(get.parameters[0]).toMatchObject({
    name: "id",
    in: "path",
    schema: { type: "integer", minimum: 1 },
  });
  const list = document.paths["/api/v1/clients"].get;
  expect(list.parameters.find((parameter: Json) => parameter.name === "limit").schema).toMatchObject({
    type: "integer",
    maximum: 200,
  });
  expect(document.components.schemas.Client.properties.created_at).toEqual({
    type: "string",
    format: "date-time",
  });
});

test("/docs and all that it loads come from this process", async () => {
  const page = await service.anonymous("GET", "origin:/docs");
  expect(page.status).toBe(200);
  expect(page.headers.get("content-security-policy")).toContain("default-src 'self'");
  const assets = [...String(page.body).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url ?? "");
  expect(assets.filter((url) => /^(https?:)?\/\//.test(url))).toEqual([]);
  for (const url of assets.filter((asset) => asset.startsWith("/"))) {
    const asset = await service.anonymous("GET", `origin:${url}`);
    expect(asset.status, url).toBe(200);
    expect(asset.headers.get("content-type"), url).toMatch(url.endsWith(".css") ? /text\/css/ : /javascript/);
  }
  const moved = await service.anonymous("GET", "origin:/swagger");
  expect([moved.status, moved.headers.get("location")]).toEqual([302, "/docs"]);
});

test("operation ids are the operations' names, each one route's", () => {
  const ids = operations().map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/);
  const idOf = (method: string, path: string) => document.paths[path][method].operationId;
  expect(idOf("post", "/api/v1/login")).toBe("login");
  expect(idOf("post", "/api/v1/clients")).toBe("create_client");
  expect(idOf("get", "/api/v1/subscriptions/{id}")).toBe("get_subscription");
  expect(idOf("post", "/api/v1/usage/export")).toBe("export_usage");
  expect(idOf("post", "/api/v1/my/usage/export")).toBe("my_export_usage");
  expect(idOf("post", "/api/v1/usage/events")).toBe("record_usage");
  expect(idOf("get", "/health")).toBe("get_health");
  for (const { name, operation } of operations()) {
    if (!name.includes(" /api/v1/")) continue;
    // What the generator would have called it: method and path.
    expect(operation.operationId, name).not.toMatch(/^(get|post|put|delete|patch)_api_v1/);
  }
});

test("what may be null says so in its values, too", () => {
  const seen: string[] = [];
  const look = (node: Json, path: string): void => {
    if (typeof node !== "object" || node === null) return;
    if (Array.isArray(node.type) && node.type.includes("null") && Array.isArray(node.enum)) {
      seen.push(path);
      expect(node.enum, path).toContain(null);
    }
    for (const [key, value] of Object.entries(node)) look(value, `${path}/${key}`);
  };
  look(document, "");
  expect(seen.length).toBeGreaterThan(3);
});
