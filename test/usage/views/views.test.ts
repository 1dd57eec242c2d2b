import { beforeAll, expect, test } from "bun:test";
import { addCatalog } from "../../billing/subscriptions/fixtures.ts";
import {
  type Answer,
  type Api,
  type Json,
  type Tenant,
  TestClock,
  useService,
} from "../../support/harness.ts";
import { addSubscription } from "../fixtures.ts";

const service = useService({
  clock: new TestClock("2026-03-20T12:00:00.000Z"),
  timezone: "Asia/Kuala_Lumpur",
});
let analyst: Api;
let client: Api;
let other: Tenant;
let client_id: number;

beforeAll(async () => {
  const catalog = await addCatalog(service);
  ({ client_id } = catalog);
  await addSubscription(service, "s1", catalog);
  analyst = await service.addUser(service, "analyst");
  client = await service.addUser(service, "client", client_id);
  other = await service.addTenant();
});

const QUESTION = { range: { relative: "this_month" }, group_by: ["client", "metadata:model"], top: 5 };
const save = (api: Api, given: Json = {}, path = "/views"): Promise<Answer> =>
  api("POST", path, { name: "By model", question: QUESTION, ...given });
const namesOf = async (api: Api, path = "/views"): Promise<string[]> =>
  (await api("GET", path)).body.data.map(({ name }: Json) => name);

test("a view is saved, found, asked, replaced and deleted", async () => {
  const { status, body } = await save(service.api, { name: "  Mine " });
  expect(status).toBe(201);
  expect(body.data).toMatchObject({
    name: "Mine",
    shared: false,
    version: 1,
    question: QUESTION,
    chart: null,
  });
  const path = `/views/${body.data.id}`;
  expect((await service.api("GET", path)).body.data).toEqual(body.data);
  expect((await service.api("POST", "/usage/series", body.data.question)).status).toBe(200);
  const question = { range: { from: "2026-03-01", to: "2026-03-02T00:00+08:00" }, measure: "events" };
  const replaced = await service.api("PUT", path, { name: "Yours", question, chart: "bar" });
  // A local time is the instant that it meant when it was saved.
  expect(replaced.body.data).toMatchObject({
    name: "Yours",
    chart: "bar",
    question: {
      range: { from: "2026-02-28T16:00:00.000Z", to: "2026-03-02T00:00+08:00" },
      measure: "events",
    },
  });
  expect((await service.api("DELETE", path)).status).toBe(200);
  expect((await service.api("GET", path)).status).toBe(404);
});

test("own views are their user's alone, shared ones all company users', and no other company's", async () => {
  const shared = (await save(service.api, { name: "For all", shared: true })).body.data;
  const own = (await save(analyst, { name: "Analyst's" })).body.data;
  const clients = (await save(client, { name: "Client's" }, "/my/views")).body.data;
  expect(await namesOf(service.api)).toEqual(["For all"]);
  expect(await namesOf(analyst)).toEqual(["For all", "Analyst's"]);
  expect(await namesOf(analyst, "/views?shared=true")).toEqual(["For all"]);
  expect(await namesOf(analyst, "/views?search=ANALYST")).toEqual(["Analyst's"]);
  expect(await namesOf(client, "/my/views")).toEqual(["Client's"]);
  expect(await namesOf(other.api)).toEqual([]);
  const body = { name: "Taken", question: {} };
  for (const [api, path] of [
    [service.api, `/views/${own.id}`],
    [other.api, `/views/${shared.id}`],
    [client, `/my/views/${shared.id}`],
    [service.api, `/views/${clients.id}`],
  ] as const) {
    for (const answer of [await api("GET", path), await api("PUT", path, body), await api("DELETE", path)])
      expect(answer.status).toBe(404);
  }
  expect((await analyst("GET", `/views/${shared.id}`)).body.data.name).toBe("For all");
  expect((await service.api("DELETE", `/views/${shared.id}`)).status).toBe(200);
});

test("sharing, and what is shared, takes the permission to write usage", async () => {
  const { id } = (await save(service.api, { shared: true })).body.data;
  const body = { name: "Mine now", question: {} };
  for (const answer of [
    await save(analyst, { shared: true }),
    await save(client, { shared: true }, "/my/views"),
    await analyst("PUT", `/views/${id}`, body),
    await analyst("DELETE", `/views/${id}`),
  ])
    expect([answer.status, answer.body.error]).toEqual([403, expect.stringContaining("usage:write")]);
  const own = (await save(analyst)).body.data;
  expect((await analyst("PUT", `/views/${own.id}`, { ...body, shared: true })).status).toBe(403);
  const manager = await service.addUser(service, "manager");
  expect((await manager("PUT", `/views/${id}`, { ...body, shared: true })).body.data.name).toBe("Mine now");
});

test.each<[Json, number, string]>([
  [{ question: undefined }, 422, "/question"],
  [{ name: " " }, 422, "/name"],
  [{ version: 2 }, 422, "/version"],
  [{ question: { colour: 1 } }, 422, "/question/colour"],
  [{ question: { top: 99 } }, 422, "/question/top"],
  [{ question: { range: { month: "2026-03", relative: "today" } } }, 422, "/question/range"],
  [{ question: { range: { from: "2026-03-02", to: "2026-03-01" } } }, 422, "/question/range/to"],
  [{ question: { filters: [{ field: "client", op: "is" }] } }, 422, "/question/filters/0/values"],
  [{ question: { filters: [{ field: "product", op: "is", values: ["999999"] }] } }, 403, ""],
  [{ question: { range: { period_of: 999_999 } } }, 404, ""],
])("%j is refused with %i", async (given, status, path) => {
  const answer = await save(service.api, given);
  expect([answer.status, answer.body.details?.[0]?.path ?? ""]).toEqual([status, path]);
});

test("a user has at most 200 views", async () => {
  const user = await service.addUser(service, "analyst");
  for (let i = 0; i < 200; i += 20) await Promise.all(Array.from({ length: 20 }, () => save(user)));
  expect((await save(user)).status).toBe(409);
  expect((await save(service.api)).status).toBe(201);
});
