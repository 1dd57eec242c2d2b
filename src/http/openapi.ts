import { toOpenAPISchema } from "@elysiajs/openapi";
import type { TSchema } from "@sinclair/typebox";
import { type AnyElysia, Elysia } from "elysia";
import { ErrorBody } from "./errors.ts";
import type { ServedRow } from "./handle.ts";
import packageJson from "../../package.json" with { type: "json" };

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

const TAGS: Record<string, string> = {
  Authentication: "Signing in, and the signed-in user.",
  Company: "The company that the user works for.",
  "API keys": "What machines call with: lenders, agents of borrowers, and whoever sends usage.",
  Users: "Who may sign in, and with which role.",
  Clients: "The company's customers.",
  Products: "What is sold.",
  "Billing models": "How it is priced.",
  Subscriptions: "Which client has which product at which price.",
  "Billing model changes": "Which price comes next, and which came before.",
  Credits: "What a credit plan has left this month, and the way to another plan.",
  Usage: "Usage events: recording them, searching them.",
  Billing: "Billing runs and billing records.",
  Forms: "What clients ask their own customers for.",
  "E-mandates": "Direct debits that customers agreed to: products, mandates, payments and their collection.",
  Lending: "Loan programs, and the applications that came in: for lenders' machines.",
  Borrowing: "Loan applications, from the draft to the offer: for agents' machines.",
  Webhooks: "Events, and who is told of them.",
  "Self-service": "What client users see of their own, under /my.",
  Agents: "Programs that act for users: OAuth 2.1 for the MCP endpoint.",
  "Audit log": "Who did what, when and from where.",
  Operations: "For whoever runs the service.",
};

const JWT = { type: "http", scheme: "bearer", bearerFormat: "JWT" };
const SECURITY = {
  bearer: { ...JWT, description: "A user's token, from `POST /api/v1/login`; valid for 24 hours." },
  apiKey: { ...JWT, description: "A machine's token, from `POST /api/v1/auth/token`; valid for an hour." },
  metrics: { type: "http", scheme: "bearer", description: "METRICS_TOKEN of the deployment." },
};

/** Paths that only machines are admitted to. */
const API_KEYS_ONLY = /^\/api\/v1\/(lender|agent)\//;

const INTRODUCTION = `Sign in at \`POST /api/v1/login\`, or exchange an API key at \`POST /api/v1/auth/token\`, and send the token as
\`Authorization: Bearer …\`. Answers wrap records in \`data\`;
errors are \`{ "error": … }\`, and a 422 names each broken rule in \`details\` with the path of its field.`;

/** The OpenAPI document of every route of the app. */
export function describe(app: AnyElysia): JsonObject {
  const exclude = { paths: [/^\/(docs|openapi|swagger)/] };
  const shown = withSchemas(app);
  const schema = toOpenAPISchema(shown, exclude, undefined, undefined, "3.1.2");
  const paths: Record<string, Record<string, JsonObject>> = asJson(schema.paths);
  for (const { path, method, hooks } of shown.routes) {
    const route = paths[path.replaceAll(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()];
    // The generator leaves the media type open where a parser of our own reads the body.
    if (hooks.body && route) route.requestBody = jsonBody(hooks.body);
    // Files are described by the route itself: the generator keeps only what has a schema.
    if (route) Object.assign(route.responses ?? {}, asJson(hooks.detail?.responses ?? {}));
    if (route && API_KEYS_ONLY.test(path)) route.security = [{ apiKey: [] }];
    if (route && hooks.row?.takes_key) describeKey(route);
    if (route) describeResponses(route);
  }
  nameOperations(paths);
  const schemas: JsonObject = {};
  const shared = hoist(paths, schemas);
  return {
    openapi: "3.1.0",
    info: {
      title: "Meterhouse",
      version: "1.0.0",
      summary: packageJson.description,
      description: INTRODUCTION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    security: [{ bearer: [] }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: shared,
    components: {
      securitySchemes: SECURITY,
      schemas,
    },
  };
}

/** The same routes with their schemas where the generator looks for them: the app itself would check by them. */
function withSchemas(app: AnyElysia): AnyElysia {
  const shown = new Elysia();
  for (const { method, path, handler, hooks } of app.routes) {
    const { row }: { row?: ServedRow } = hooks;
    shown.route(method, path, handler, { ...hooks, ...row?.schemas });
  }
  return shown;
}

/**
 * Gives each route the name of its operation as its id. Where several routes lead to one operation, those for client
 * users and for machines begin with whom they are for; where there is no operation, it is method and path.
 */
function nameOperations(paths: Record<string, Record<string, JsonObject>>): void {
  const named = Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(methods).map((route) => {
      const { operationId: id } = route;
      return { path, route, name: snakeCase(typeof id === "string" ? id : "") };
    }),
  );
  const routesOf = Map.groupBy(named, ({ name }) => name);
  for (const { path, route, name } of named) {
    const [, owner] = /^\/api\/v1\/(my|lender|agent)\//.exec(path) ?? [];
    const is_shared = (routesOf.get(name)?.length ?? 0) > 1;
    route.operationId = is_shared && owner !== undefined ? `${owner}_${name}` : name;
  }
}

function snakeCase(name: string): string {
  return name
    .replaceAll(/[^A-Za-z0-9]+/g, "_")
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase();
}

/** The schema of what may also be null. */
function orNull(schema: Json): Json {
  return { anyOf: [schema, { type: "null" }] };
}

const RESPONSES: Record<string, string> = {
  200: "Done.",
  201: "Created.",
  202: "Accepted: the work goes on.",
  400: "The body is not JSON, or the record can't answer this.",
  401: "No token, a bad one, or one that has ended.",
  403: "Your role or level does not allow it, or it names what is not yours.",
  404: "Not found.",
  408: "The body took too long to arrive.",
  409: "The state of the record forbids it.",
  413: "The body is too large.",
  415: "The body is of a media type that is not read here, or not in UTF-8.",
  422: "It breaks a rule; each broken one is named.",
  429: "Too much at once.",
  500: "Internal error; the request id finds its cause in the log.",
  503: "Try again later.",
};

const HEADERS: Record<string, JsonObject> = {
  401: { "WWW-Authenticate": { description: "`Bearer`", schema: { type: "string" } } },
  429: { "Retry-After": { description: "Seconds", schema: { type: "integer" } } },
  503: { "Retry-After": { description: "Seconds", schema: { type: "integer" } } },
};

/** Says what each answer means, and adds those that every body may get. */
function describeResponses(route: JsonObject): void {
  const declared = isObject(route.responses) ? route.responses : {};
  const error = { "application/json": { schema: asJson(ErrorBody) } };
  const refused = isObject(route.requestBody)
    ? { 400: { content: error }, 413: { content: error }, 415: { content: error } }
    : {};
  const responses: JsonObject = { ...refused, ...declared };
  for (const [status, response] of Object.entries(responses)) {
    const headers = HEADERS[status];
    responses[status] = {
      ...(isObject(response) ? response : {}),
      description: RESPONSES[status] ?? "",
      ...(headers ? { headers } : {}),
    };
  }
  route.responses = responses;
}

const KEY = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "Carries the request out once: for 24 hours the same request with the same key gets the same answer, with the header `Idempotent-Replayed: true`. Another request under the key, and a repeat whose answer can't be given (yet, then with Retry-After), is a 409.",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x21-\\x7e]+$" },
};

function describeKey(route: JsonObject): void {
  route.parameters = [...(Array.isArray(route.parameters) ? route.parameters : []), KEY];
  route.responses = {
    409: { content: { "application/json": { schema: asJson(ErrorBody) } } },
    ...(isObject(route.responses) ? route.responses : {}),
  };
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A body that needs no field may be left out. */
function jsonBody(schema: TSchema): JsonObject {
  const required = (schema.required ?? []).length > 0;
  return { required, content: { "application/json": { schema: asJson(schema) } } };
}

/** Without what JSON can't tell: the schema library's symbols. */
function asJson(value: unknown) {
  return JSON.parse(JSON.stringify(value));
}

/** Moves every titled schema to `schemas`, once, and leaves a reference; shows texts as what they are read as. */
function hoist(node: Json, schemas: JsonObject): Json {
  if (Array.isArray(node)) return node.map((item) => hoist(item, schemas));
  if (typeof node !== "object" || node === null) return node;
  const shown = node["x-schema"];
  if (shown !== undefined) return Array.isArray(node.type) ? orNull(shown) : shown;
  const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, hoist(value, schemas)]));
  // The generator folds what may be null into the types, and leaves it out of the values.
  if (Array.isArray(copy.type) && copy.type.includes("null") && Array.isArray(copy.enum))
    copy.enum = [...new Set([...copy.enum, null])];
  const { title } = copy;
  if (typeof title !== "string" || copy.type !== "object") return copy;
  schemas[title] ??= copy;
  return { $ref: `#/components/schemas/${title}` };
}

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Meterhouse API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<div id="swagger-ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</html>`;

const START = `SwaggerUIBundle({ url: "/openapi.json", dom_id: "#swagger-ui", deepLinking: true, persistAuthorization: false });`;

const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'";

const asset = (name: string) => () => Bun.file(Bun.resolveSync(`swagger-ui-dist/${name}`, import.meta.dir));

/** `/docs` for people and `/openapi.json` for programs; every asset comes from this process. */
export function documentation(appOf: () => AnyElysia) {
  let document: JsonObject | undefined;
  const hidden = { detail: { hide: true } };
  return new Elysia({ name: "documentation" })
    .get("/openapi.json", () => (document ??= describe(appOf())), hidden)
    .get(
      "/docs",
      ({ set }) => {
        set.headers["content-type"] = "text/html; charset=utf-8";
        set.headers["content-security-policy"] = POLICY;
        return PAGE;
      },
      hidden,
    )
    .get(
      "/docs/start.js",
      ({ set }) => {
        set.headers["content-type"] = "text/javascript; charset=utf-8";
        return START;
      },
      hidden,
    )
    .get("/docs/swagger-ui.css", asset("swagger-ui.css"), hidden)
    .get("/docs/swagger-ui-bundle.js", asset("swagger-ui-bundle.js"), hidden)
    .get("/swagger", ({ redirect }) => redirect("/docs"), hidden);
}
