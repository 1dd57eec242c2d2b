import { toOpenAPISchema } from "@elysiajs/openapi";
import type { TSchema } from "@sinclair/typebox";
import { type AnyElysia, Elysia } from "elysia";
import { ErrorBody } from "./errors.ts";
import type { ServedRow } from "./handle.ts";
import answerExamples from "./answer_examples.json" with { type: "json" };
import packageJson from "../../package.json" with { type: "json" };

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

const TAGS: Record<string, string> = {
  Authentication: "Signing in, and the signed-in user.",
  Company: "The company that the user works for.",
  "API keys": "Credentials of machines: lenders, agents of borrowers, senders of usage.",
  Users: "People who sign in, and their roles.",
  Clients: "The company's customers.",
  Products: "What the company sells.",
  Meters: "What counts of usage.",
  Entitlements: "What plans grant, and whether a subscription may go on using it.",
  "Billing models": "Prices of products.",
  Simulations: "Prices tried on the past, and what is earned.",
  "Add-ons": "What subscriptions may have beside their plans, and what they have booked.",
  Subscriptions: "Clients' use of products under billing models.",
  "Billing model changes": "Plan changes: scheduled, applied and cancelled.",
  Credits: "Credits left this month, and changes of the credit plan.",
  Usage: "Recording and searching usage events.",
  Billing: "Billing runs and billing records.",
  Forms: "Forms of clients for their own customers.",
  "E-mandates": "Direct debits that customers approved: products, mandates, payments and their collection.",
  Lending: "Loan programs and applications, for lenders' machines.",
  "Lending by users": "The same for the company's users, in the environment that the path names.",
  Borrowing: "Loan applications from draft to offer, for agents' machines.",
  Webhooks: "Domain events, endpoints that receive them, and deliveries.",
  "Self-service": "A client user's own records, under /my.",
  Agents: "OAuth clients, which act for users: OAuth 2.1 for the MCP endpoint.",
  People: "Erasing what is stored about a person.",
  "Audit log": "Who did what, when and from where.",
  Operations: "For operators of the service.",
};

const JWT = { type: "http", scheme: "bearer", bearerFormat: "JWT" };
const SECURITY = {
  bearer: { ...JWT, description: "A user's token, from `POST /api/v1/login`; valid for 24 hours." },
  apiKey: { ...JWT, description: "A machine's token, from `POST /api/v1/auth/token`; valid for an hour." },
  metrics: { type: "http", scheme: "bearer", description: "METRICS_TOKEN of the deployment." },
};

/** Paths for machines only. */
const API_KEYS_ONLY = /^\/api\/v1\/(lender|agent)\//;

const INTRODUCTION = `Sign in at \`POST /api/v1/login\`, or exchange an API key at \`POST /api/v1/auth/token\`, and send the token as
\`Authorization: Bearer …\`. Pages of this service may have a session instead, from \`POST /api/v1/session\`. Responses wrap records in \`data\`;
errors are \`{ "error": … }\`, and a 422 names each broken rule in \`details\` with the path of its field.`;

/** The OpenAPI document of every route of the app. */
export function describe(app: AnyElysia): JsonObject {
  const exclude = { paths: [/^\/(docs|openapi|swagger)/] };
  const shown = withSchemas(app);
  const schema = toOpenAPISchema(shown, exclude, undefined, undefined, "3.1.2");
  const paths: Record<string, Record<string, JsonObject>> = asJson(schema.paths);
  for (const { path, method, hooks } of shown.routes) {
    const route = paths[path.replaceAll(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()];
    // The generator leaves the media type open where our own parser reads the body.
    if (hooks.body && route) route.requestBody = jsonBody(hooks.body);
    // The generator drops responses without a schema: files are described by the route itself.
    if (route) Object.assign(route.responses ?? {}, asJson(hooks.detail?.responses ?? {}));
    if (route && API_KEYS_ONLY.test(path)) route.security = [{ apiKey: [] }];
    if (route && isForUsersAndKeys(hooks.row)) route.security = [{ bearer: [] }, { apiKey: [] }];
    if (route && hooks.row?.takes_key) describeKey(route);
    if (route && hooks.row?.takes_if_match) addParameter(route, IF_MATCH);
    if (route && hooks.row?.has_csv) describeCsv(route);
    if (route) describeResponses(route);
    if (route && hooks.row?.has_etag) describeEtag(route);
  }
  nameOperations(paths);
  showAnswers(paths);
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

/** What a change of the record is sent as If-Match. */
function describeEtag({ responses }: JsonObject): void {
  const success = isObject(responses) ? responses["200"] : undefined;
  if (isObject(success))
    success.headers = { ETag: { description: "For If-Match of a PUT", schema: { type: "string" } } };
}

/** The answer of a list is CSV to who accepts that. */
function describeCsv({ responses }: JsonObject): void {
  const success = isObject(responses) ? responses["200"] : undefined;
  if (isObject(success) && isObject(success.content))
    success.content["text/csv"] = { schema: { type: "string" } };
}

const isForUsersAndKeys = (row?: ServedRow) =>
  row !== undefined &&
  row.levels.includes("company") &&
  row.levels.some((level) => level === "ingest" || level === "gateway");

/** The same routes with schemas where the generator expects them: in the app, Elysia would check by them. */
function withSchemas(app: AnyElysia): AnyElysia {
  const shown = new Elysia();
  for (const { method, path, handler, hooks } of app.routes) {
    const { row }: { row?: ServedRow } = hooks;
    shown.route(method, path, handler, { ...hooks, ...row?.schemas });
  }
  return shown;
}

/**
 * Sets each operationId to the operation's name, or to method and path without one. Where routes share an operation,
 * those for client users and machines get their audience as prefix.
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
    const [, owner] = /^\/api\/v1\/(my|lender|lending|agent)\//.exec(path) ?? [];
    const is_shared = (routesOf.get(name)?.length ?? 0) > 1;
    route.operationId = is_shared && owner !== undefined ? `${owner}_${name}` : name;
  }
}

/** Shows answers that were given: a test compares each with what is answered now. */
function showAnswers(paths: Record<string, Record<string, JsonObject>>): void {
  for (const [name, { status, body }] of Object.entries<AnswerExample>(answerExamples)) {
    const [method = "", path = ""] = name.split(" ");
    const responses = paths[`/api/v1${path}`]?.[method]?.responses;
    const response = isObject(responses) ? responses[status] : undefined;
    const content = isObject(response) ? response.content : undefined;
    const json = isObject(content) ? content["application/json"] : undefined;
    if (!isObject(json)) throw new Error(`There is no JSON answer ${status} of ${name} to show`);
    json.example = body;
  }
}

interface AnswerExample {
  readonly status: number;
  readonly body: Json;
}

function snakeCase(name: string): string {
  return name
    .replaceAll(/[^A-Za-z0-9]+/g, "_")
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase();
}

/** A nullable schema. */
function orNull(schema: Json): Json {
  return { anyOf: [schema, { type: "null" }] };
}

const RESPONSES: Record<string, string> = {
  200: "Done.",
  201: "Created.",
  202: "Accepted: the work continues.",
  400: "The body is not JSON, or the record does not support this.",
  401: "The token is missing, invalid or ended.",
  403: "Your role or level does not allow it, or the record is not yours.",
  404: "Not found.",
  408: "The body took too long to arrive.",
  409: "The record's state does not allow it.",
  412: "It was changed since it was read: If-Match names it as it was.",
  413: "The body is too large.",
  415: "The body's media type is not supported, or it is not UTF-8.",
  422: "The request breaks a rule; each broken rule is named.",
  429: "Too many requests.",
  500: "Internal error. The log has its cause under the request id.",
  503: "Try again later.",
};

const HEADERS: Record<string, JsonObject> = {
  401: { "WWW-Authenticate": { description: "`Bearer`", schema: { type: "string" } } },
  429: { "Retry-After": { description: "Seconds", schema: { type: "integer" } } },
  503: { "Retry-After": { description: "Seconds", schema: { type: "integer" } } },
};

/** Describes each response, and adds those that every body may cause. */
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
    "Carries the request out once: for 24 hours a repeat with the same key gets the same response, with the header `Idempotent-Replayed: true`. Another request under the key is a 409, and so is a repeat whose response is not available (with Retry-After if it may be later).",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x21-\\x7e]+$" },
};

const IF_MATCH = {
  name: "If-Match",
  in: "header",
  description: "The ETag of a GET here: the change is refused with a 412 if it was changed since.",
  schema: { type: "string" },
};

function addParameter(route: JsonObject, parameter: JsonObject): void {
  route.parameters = [...(Array.isArray(route.parameters) ? route.parameters : []), parameter];
}

function describeKey(route: JsonObject): void {
  addParameter(route, KEY);
  route.responses = {
    409: { content: { "application/json": { schema: asJson(ErrorBody) } } },
    ...(isObject(route.responses) ? route.responses : {}),
  };
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The request body; optional if no field is required. */
function jsonBody(schema: TSchema): JsonObject {
  const required = (schema.required ?? []).length > 0;
  return { required, content: { "application/json": { schema: asJson(schema) } } };
}

/** Plain JSON, without the schema library's symbols. */
function asJson(value: unknown) {
  return JSON.parse(JSON.stringify(value));
}

/** Moves titled schemas to `schemas` and leaves references; shows texts as the types they are read as. */
function hoist(node: Json, schemas: JsonObject): Json {
  if (Array.isArray(node)) return node.map((item) => hoist(item, schemas));
  if (typeof node !== "object" || node === null) return node;
  const shown = node["x-openapi"] ?? node["x-schema"];
  if (shown !== undefined) return Array.isArray(node.type) ? orNull(shown) : shown;
  const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, hoist(value, schemas)]));
  // The generator adds null to the types, but not to the enum.
  if (Array.isArray(copy.type) && copy.type.includes("null") && Array.isArray(copy.enum))
    copy.enum = [...new Set([...copy.enum, null])];
  const { title } = copy;
  if (typeof title !== "string" || copy.type !== "object") return copy;
  schemas[title] ??= copy;
  return { $ref: `#/components/schemas/${title}` };
}
