import { expect, test } from "bun:test";
import type { Json } from "../../support/harness.ts";
import { search } from "../fixtures.ts";
import { useSearchFixture } from "../search/fixtures.ts";

const fixture = useSearchFixture();
const values = async (body: Json, api = fixture.service.api, path = "/usage/values") => {
  const { data, meta } = await search(api, { range: { relative: "all" }, ...body }, path);
  return {
    found: data.map(({ key, event_count, total_usage }: Json) => [key, event_count, total_usage]),
    data,
    meta,
  };
};

test("values of a metadata key come by their frequency, as typed so far", async () => {
  const { found, meta } = await values({ field: "metadata:region" });
  expect(found).toEqual([
    ["eu", 2, 0.5],
    ["us", 1, 2.5],
  ]);
  expect(meta).toMatchObject({ matched: 3, total: 2 });
  expect((await values({ field: "metadata:region", search: "U", limit: 1 })).found).toEqual([["eu", 2, 0.5]]);
  expect((await values({ field: "metadata:tag.env", search: "pro" })).found).toEqual([["Prod", 1, 1]]);
  expect((await values({ field: "metadata:n" })).found).toEqual([["5", 1, 10]]);
  expect((await values({ field: "metadata:region", search: "%" })).found).toEqual([]);
});

test("values of a field of records are their keys, with names to show", async () => {
  const { service, subscriptions } = fixture;
  const { company_id } = service;
  const { found, data } = await values({ field: "subscription", search: "NAME OF" });
  expect(found).toEqual([
    [`${company_id}:b1`, 4, 270],
    [`${company_id}:a1`, 3, 3.500001],
    [`${company_id}:a2`, 2, 39.5],
  ]);
  expect(data[0].name).toBe("Name of b1");
  const clients = await values({ field: "client" });
  const [a, b] = [subscriptions.a1?.client_id, subscriptions.b1?.client_id].map(String);
  expect(clients.found).toEqual([
    [a, 5, 43.000001],
    [b, 4, 270],
  ]);
  const [{ name }] = clients.data;
  expect((await values({ field: "client", search: name })).found).toEqual([[a, 5, 43.000001]]);
});

test("filters, bounds and the range narrow values, and a client user sees its own", async () => {
  const { service, client, subscriptions } = fixture;
  const filters = [{ field: "metadata:region", op: "missing" }];
  expect((await values({ field: "subscription", filters, min_usage: 50, max_usage: 100 })).found).toEqual([
    [`${service.company_id}:b1`, 1, 80],
  ]);
  expect((await values({ field: "metadata:region", range: { relative: "yesterday" } })).found).toEqual([
    ["eu", 1, -0.5],
    ["us", 1, 2.5],
  ]);
  const own = await values({ field: "client" }, client, "/my/usage/values");
  expect(own.found).toEqual([[String(subscriptions.a1?.client_id), 5, 43.000001]]);
  const refused = await service.api("POST", "/usage/values", { field: "colour" });
  expect([refused.status, refused.body.details[0].path]).toEqual([422, "/field"]);
  expect((await service.api("POST", "/usage/values", {})).status).toBe(422);
});
