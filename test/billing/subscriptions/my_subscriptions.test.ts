import { beforeAll, describe, expect, test } from "bun:test";
import { type Api, type Json, useService } from "../../support/harness.ts";
import { addCatalog, type Catalog, subscribe } from "./fixtures.ts";

const service = useService();
let mine: Catalog;
let client: Api;
let first: Json;
let second: Json;
let theirs: Json;

beforeAll(async () => {
  mine = await addCatalog(service);
  client = await service.addUser(service, "client", mine.client_id);
  first = await subscribe(service.api, mine, { name: "Alpha" });
  theirs = await subscribe(service.api, await addCatalog(service), { name: "Alpha of another" });
  second = await subscribe(service.api, mine, { name: "Beta" });
  await service.api("POST", `/subscriptions/${second.id}/cancel`, { at: "now" });
});

describe("a client user's subscriptions", () => {
  test("are its client's alone, with their relations", async () => {
    const { status, body } = await client("GET", "/my/subscriptions");
    expect(status).toBe(200);
    const ended = (await service.api("GET", `/subscriptions/${second.id}`)).body.data;
    expect(body).toEqual({ data: [first, ended] });
    expect(await client("GET", `/my/subscriptions/${first.id}`)).toMatchObject({
      status: 200,
      body: { data: first },
    });
  });

  test.each([
    ["?status=active", ["Alpha"]],
    ["?status=cancelled", ["Beta"]],
    ["?search=alpha", ["Alpha"]],
    ["?page=2&limit=1", ["Beta"]],
  ])("are narrowed by what is asked: %s", async (query, names) => {
    const { body } = await client("GET", `/my/subscriptions${query}`);
    expect(body.data.map((row: Json) => row.name)).toEqual(names);
    if (query.includes("page")) expect(body.meta).toEqual({ page: 2, limit: 1, total: 2, total_pages: 2 });
  });

  test("another client's or company's subscription is not there", async () => {
    const other = await service.addTenant();
    const foreign = await subscribe(other.api, await addCatalog(other));
    for (const id of [theirs.id, foreign.id, 9_007_199_254_740_991]) {
      expect((await client("GET", `/my/subscriptions/${id}`)).status).toBe(404);
    }
  });

  test.each(["abc", "0", "1e3", "9007199254740992"])("an id that is none is a 422: %s", async (id) => {
    expect((await client("GET", `/my/subscriptions/${id}`)).status).toBe(422);
  });

  test.each(["?client_id=1", "?page=0", "?limit=201", "?status=ended"])(
    "a query that is not offered is refused: %s",
    async (query) => {
      expect((await client("GET", `/my/subscriptions${query}`)).status).toBe(422);
    },
  );

  test("are not for company users, nor for nobody", async () => {
    for (const path of ["/my/subscriptions", `/my/subscriptions/${first.id}`]) {
      expect((await service.api("GET", path)).status).toBe(403);
      expect((await service.anonymous("GET", path)).status).toBe(401);
    }
  });

  test("are only read", async () => {
    for (const [method, path] of [
      ["POST", "/my/subscriptions"],
      ["PUT", `/my/subscriptions/${first.id}`],
      ["DELETE", `/my/subscriptions/${first.id}`],
    ] as const) {
      expect((await client(method, path, method === "DELETE" ? undefined : {})).status).toBe(405);
    }
    // Unless the company allows it.
    expect((await client("POST", `/my/subscriptions/${first.id}/cancel`, { at: "now" })).status).toBe(403);
  });
});
