import { beforeAll, describe, expect, test } from "bun:test";
import { raiseFlags } from "../../src/emandate/flags/queries.ts";
import { findOrderByNumber } from "../../src/emandate/orders/queries.ts";
import { create } from "../billing/subscriptions/fixtures.ts";
import { type Api, type Json, type Tenant, useService } from "../support/harness.ts";

// Every route below /emandate, as the API document lists them, tried by everyone who must not get in: a route that is
// added is tried too, and one whose body is missing here fails.

const BASE = "/api/v1";
/** Called by the scheme and by customers' browsers, who have no token. */
const OPEN = /^\/emandate\/(callbacks|authorizations)\//;

/** A body that each route takes that takes one. */
const BODIES: Record<string, object | string> = {
  "POST /emandate/products": product("NEW"),
  "PUT /emandate/products/{id}": product("ONE"),
  "POST /emandate/mandates": { customer_name: "A", customer_email: "a@example.com" },
  "POST /emandate/mandates/results": "order_no,amount,response_code\r\n",
  "POST /emandate/mandates/{id}/authorize": {},
  "POST /emandate/mandates/{id}/suspend": {},
  "POST /emandate/mandates/{id}/resume": {},
  "POST /emandate/mandates/{id}/cancel": {},
  "POST /emandate/mandates/{id}/terminate": {},
  "POST /emandate/mandates/{id}/withdraw": {},
  "POST /emandate/mandates/{id}/amend": { amount: "5.00" },
  "POST /emandate/mandates/{id}/payments": { amount: "5.00" },
  "POST /emandate/payments/{id}/retry": {},
  "POST /emandate/payments/{id}/cancel": {},
  "POST /emandate/flags/{id}/resolve": { note: "Looked at" },
  "PUT /emandate/config": { max_retries: 1 },
  "POST /emandate/collections/run": {},
  "POST /emandate/collections/results": "order_no,amount,response_code\r\n",
  "POST /emandate/collections/{id}/results": "order_no,amount,response_code\r\n",
  "POST /emandate/simulator/scenarios/{name}/run": { mandate_id: 1 },
};

/** Query text that a route does not go without. */
const QUERIES: Record<string, string> = { "GET /emandate/mandates/{id}/amend/preview": "?amount=5.00" };

interface Route {
  readonly method: string;
  readonly path: string;
}

let other: Tenant;
let routes: Route[];

function product(product_code: string) {
  return { product_code, product_name: "Gym", max_amount: "100.00", frequency: "Monthly" };
}

const service = useService();

beforeAll(async () => {
  other = await service.addTenant();
  const { body } = await service.anonymous("GET", "origin:/openapi.json");
  routes = Object.entries<Json>(body.paths)
    .filter(([path]) => path.startsWith(`${BASE}/emandate/`))
    .flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({
        method: method.toUpperCase(),
        path: path.slice(BASE.length),
      })),
    );
  // A record of each kind, all of them with the id 1.
  await create(service.api, "/emandate/products", product("ONE"));
  await create(service.api, "/emandate/mandates", BODIES["POST /emandate/mandates"]);
  const run = async (path: string, subject: object) =>
    expect((await service.api("POST", path, subject)).status).toBeLessThan(300);
  await run("/emandate/mandates/1/authorize", {});
  for (const scenario of ["mandate_authorized", "mandate_activated"])
    await run(`/emandate/simulator/scenarios/${scenario}/run`, { mandate_id: 1 });
  const { order_no } = await create(service.api, "/emandate/mandates/1/payments", { amount: "5.00" });
  await service.deps.store.tx(async (q) => {
    const order = await findOrderByNumber(q, order_no);
    if (!order) throw new Error("No such order");
    await raiseFlags({ q, scope: order, now: service.deps.clock.now() }, [
      { order, reason: "no_answer", response: { code: null, message: null } },
    ]);
  });
  await run("/emandate/collections/run", {});
});

async function statusOf(api: Api, { method, path }: Route): Promise<number> {
  const body = BODIES[`${method} ${path}`];
  const query = QUERIES[`${method} ${path}`] ?? "";
  const named = path.replace("{id}", "1").replace("{name}", "mandate_expired").replace("{order_no}", "X1");
  const type: Record<string, string> = typeof body === "string" ? { "content-type": "text/csv" } : {};
  return (await api(method, `${named}${query}`, body, type)).status;
}

/** What each route with a token answers somebody. */
async function answersTo(
  api: Api,
  some: (route: Route) => boolean = () => true,
): Promise<[string, number][]> {
  const asked = routes.filter((route) => !OPEN.test(route.path) && some(route));
  return Promise.all(
    asked.map(async (route): Promise<[string, number]> => {
      return [`${route.method} ${route.path}`, await statusOf(api, route)];
    }),
  );
}

/** The answers that are other than they should be: none. */
const otherThan = (status: number, answers: [string, number][]) =>
  answers.filter(([, got]) => got !== status);

describe("below /emandate", () => {
  test("every route is listed, and each that takes a body has one here", () => {
    expect(routes.length).toBeGreaterThan(30);
    const takes = routes.filter(
      ({ method, path }) => !["GET", "DELETE"].includes(method) && !OPEN.test(path),
    );
    expect(takes.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(
      Object.keys(BODIES).toSorted(),
    );
  });

  test("nobody gets in without a token", async () => {
    const answers = await answersTo(service.anonymous);
    expect(answers.length).toBeGreaterThan(25);
    expect(otherThan(401, answers)).toEqual([]);
  });

  test("client users are kept out", async () => {
    const { id } = await create(service.api, "/clients", { name: "Acme" });
    const answers = await answersTo(await service.addUser(service, "client", id));
    expect(answers.length).toBeGreaterThan(25);
    expect(otherThan(403, answers)).toEqual([]);
  });

  test("analysts read, and change nothing", async () => {
    const analyst = await service.addUser(service, "analyst");
    const changes = await answersTo(analyst, ({ method }) => method !== "GET");
    expect(changes.length).toBeGreaterThan(15);
    expect(otherThan(403, changes)).toEqual([]);
    const reads = await answersTo(analyst, ({ method }) => method === "GET");
    expect(otherThan(200, reads)).toEqual([]);
  });

  test("another company's records are not there", async () => {
    const named = ({ path }: Route) => path.includes("{id}");
    const answers = await answersTo(other.api, named);
    expect(answers.length).toBeGreaterThan(15);
    expect(otherThan(404, answers)).toEqual([]);
    const lists = await answersTo(
      other.api,
      ({ path, method }) => method === "GET" && !named({ path, method }),
    );
    expect(otherThan(200, lists)).toEqual([]);
    for (const list of ["products", "customers", "mandates", "payments", "collections", "flags"])
      expect([list, (await other.api("GET", `/emandate/${list}`)).body.data]).toEqual([list, []]);
    const scenario = await other.api("POST", "/emandate/simulator/scenarios/mandate_expired/run", {
      mandate_id: 1,
    });
    expect([scenario.status, scenario.body.details[0].path]).toEqual([422, "/mandate_id"]);
  });

  test("a manager does everything but change the scheme's configuration", async () => {
    const manager = await service.addUser(service, "manager");
    const answers = await answersTo(manager);
    expect(answers.filter(([, status]) => status === 403)).toEqual([["PUT /emandate/config", 403]]);
    expect(answers.filter(([, status]) => status >= 500 || status === 401)).toEqual([]);
  });
});
