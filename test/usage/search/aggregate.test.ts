import { describe, expect, test } from "bun:test";
import type { Json } from "../../support/harness.ts";
import { addSubscription, ms, search, send } from "../fixtures.ts";
import { NOW, useSearchFixture } from "./fixtures.ts";

const HOUR = 3_600_000;

const fixture = useSearchFixture();
const { service } = fixture;
const { api } = service;

/** Key, total and count of each group. */
async function groups(body: Json) {
  const { data } = await search(api, { aggregate: true, ...body });
  return data.map((row: Json) => [row.group_key, row.total_usage, row.event_count]);
}

async function keys(body: Json) {
  return (await groups(body)).map(([key]: Json) => key);
}

const clientKey = (name: string) => String(fixture.subscriptions[name].client_id);
const productKey = (name: string) => String(fixture.subscriptions[name].product_id);
const compositeKey = (name: string) => `${service.company_id}:${name}`;

describe("aggregates", () => {
  test("without group_by there is one row, also of nothing", async () => {
    expect(await search(api, { aggregate: true })).toEqual({
      data: [
        {
          group_key: "total",
          group_name: "total",
          total_usage: 313.000001,
          event_count: 9,
          min_usage: -0.5,
          max_usage: 160,
        },
      ],
    });
    for (const nothing of [{ external_subscription_ids: ["zzz"] }, { start_time: 9, end_time: 5 }]) {
      expect((await search(api, { aggregate: true, ...nothing })).data).toEqual([
        {
          group_key: "total",
          group_name: "total",
          total_usage: 0,
          event_count: 0,
          min_usage: null,
          max_usage: null,
        },
      ]);
      expect(await groups({ group_by: "client", ...nothing })).toEqual([]);
      expect(await groups({ group_by: "hour", ...nothing })).toEqual([]);
    }
  });

  test("by subscription, client and product, the largest first, with their names", async () => {
    expect(await groups({ group_by: "subscription" })).toEqual([
      [compositeKey("b1"), 270, 4],
      [compositeKey("a2"), 39.5, 2],
      [compositeKey("a1"), 3.500001, 3],
    ]);
    expect(await groups({ group_by: "client" })).toEqual([
      [clientKey("b1"), 270, 4],
      [clientKey("a1"), 43.000001, 5],
    ]);
    expect(await groups({ group_by: "product" })).toEqual([
      [productKey("a1"), 273.500001, 7],
      [productKey("a2"), 39.5, 2],
    ]);
    const names = async (group_by: string) => {
      const { data } = await search(api, { aggregate: true, group_by });
      return data.map((row: Json) => row.group_name);
    };
    expect(await names("subscription")).toEqual(["Name of b1", "Name of a2", "Name of a1"]);
    const listed = (await api("GET", "/clients")).body.data;
    const name = (of: string) =>
      listed.find(({ id }: Json) => id === fixture.subscriptions[of].client_id).name;
    expect(await names("client")).toEqual([name("b1"), name("a1")]);
  });

  test("the smallest and largest usage of a fold are those of its events", async () => {
    const { data } = await search(api, { aggregate: true, group_by: "client" });
    expect(data.map((row: Json) => [row.min_usage, row.max_usage])).toEqual([
      [10, 160],
      [-0.5, 40],
    ]);
  });

  test("by day, hour and month in the company's zone, in the order of time", async () => {
    expect(await groups({ group_by: "day" })).toEqual([
      ["2025-12-09", 160, 1],
      ["2026-01-31", 80, 1],
      ["2026-02-01", 40, 1],
      ["2026-02-28", 0.000001, 1],
      ["2026-03-01", 30, 2],
      ["2026-03-09", 2, 2],
      ["2026-03-10", 1, 1],
    ]);
    expect(await groups({ group_by: "month" })).toEqual([
      ["2025-12", 160, 1],
      ["2026-01", 80, 1],
      ["2026-02", 40.000001, 2],
      ["2026-03", 33, 5],
    ]);
    expect(await groups({ group_by: "hour", relative: "last_24h" })).toEqual([
      ["2026-03-09T23:00+08:00", 2, 2],
      ["2026-03-10T00:00+08:00", 1, 1],
    ]);
  });

  test("sort_by and sort_order override the order", async () => {
    expect(await keys({ group_by: "month", sort_order: "desc" })).toEqual([
      "2026-03",
      "2026-02",
      "2026-01",
      "2025-12",
    ]);
    expect(await keys({ group_by: "month", sort_by: "usage" })).toEqual([
      "2025-12",
      "2026-01",
      "2026-02",
      "2026-03",
    ]);
    expect(await keys({ group_by: "month", sort_by: "usage", sort_order: "asc" })).toEqual([
      "2026-03",
      "2026-02",
      "2026-01",
      "2025-12",
    ]);
    expect(await keys({ group_by: "subscription", sort_by: "timestamp", sort_order: "asc" })).toEqual(
      ["a1", "a2", "b1"].map(compositeKey),
    );
    expect(await keys({ group_by: "subscription", sort_by: "timestamp" })).toEqual(
      ["b1", "a2", "a1"].map(compositeKey),
    );
    expect(await keys({ group_by: "subscription", sort_order: "asc" })).toEqual(
      ["a1", "a2", "b1"].map(compositeKey),
    );
  });

  test("a list of two makes a matrix", async () => {
    const window = { relative: "this_month" };
    expect(await groups({ ...window, group_by: ["client", "day"] })).toEqual([
      [[clientKey("a1"), "2026-03-09"], 2, 2],
      [[clientKey("a1"), "2026-03-10"], 1, 1],
      [[clientKey("b1"), "2026-03-01"], 30, 2],
    ]);
    expect(await groups({ ...window, group_by: ["month", "product"] })).toEqual([
      [["2026-03", productKey("a1")], 33.5, 4],
      [["2026-03", productKey("a2")], -0.5, 1],
    ]);
    expect(await groups({ ...window, group_by: ["client", "subscription"] })).toEqual([
      [[clientKey("b1"), compositeKey("b1")], 30, 2],
      [[clientKey("a1"), compositeKey("a1")], 3.5, 2],
      [[clientKey("a1"), compositeKey("a2")], -0.5, 1],
    ]);
  });

  test("by metadata, what has no value last among equals, and named by its value", async () => {
    const group = (group_key: unknown, total_usage: number, event_count: number) =>
      expect.objectContaining({ group_key, group_name: group_key, total_usage, event_count });
    const { data } = await search(api, { aggregate: true, group_by: "metadata:region" });
    expect(data).toEqual([group(null, 310.000001, 6), group("us", 2.5, 1), group("eu", 0.5, 2)]);
    const by_path = await search(api, {
      aggregate: true,
      group_by: "metadata:tag.env",
      sort_by: "timestamp",
    });
    expect(by_path.data).toEqual([group(null, 312.000001, 8), group("Prod", 1, 1)]);
    expect(await keys({ group_by: "metadata:region", sort_by: "timestamp", sort_order: "asc" })).toEqual([
      "eu",
      "us",
      null,
    ]);
    expect(await groups({ group_by: "metadata:n", relative: "this_month" })).toEqual([
      [null, 23, 4],
      ["5", 10, 1],
    ]);
    expect(await groups({ group_by: "metadata:" })).toEqual([[null, 313.000001, 9]]);
  });

  test("by metadata and anything else", async () => {
    const window = { relative: "this_month" };
    expect(await groups({ ...window, group_by: ["metadata:region", "day"] })).toEqual([
      [["eu", "2026-03-09"], -0.5, 1],
      [["eu", "2026-03-10"], 1, 1],
      [["us", "2026-03-09"], 2.5, 1],
      [[null, "2026-03-01"], 30, 2],
    ]);
    expect(await groups({ ...window, group_by: ["client", "metadata:region"] })).toEqual([
      [[clientKey("b1"), null], 30, 2],
      [[clientKey("a1"), "us"], 2.5, 1],
      [[clientKey("a1"), "eu"], 0.5, 2],
    ]);
    expect(await groups({ ...window, group_by: ["metadata:tag.env", "metadata:region"] })).toEqual([
      [[null, null], 30, 2],
      [[null, "us"], 2.5, 1],
      [["Prod", "eu"], 1, 1],
      [[null, "eu"], -0.5, 1],
    ]);
    expect(await groups({ ...window, group_by: ["month", "metadata:region"] })).toEqual([
      [["2026-03", "eu"], 0.5, 2],
      [["2026-03", "us"], 2.5, 1],
      [["2026-03", null], 30, 2],
    ]);
    expect(await groups({ ...window, group_by: ["metadata:region", "subscription"] })).toEqual([
      [[null, compositeKey("b1")], 30, 2],
      [["us", compositeKey("a1")], 2.5, 1],
      [["eu", compositeKey("a1")], 1, 1],
      [["eu", compositeKey("a2")], -0.5, 1],
    ]);
  });

  test("a client user's groups by metadata are of its own client's events", async () => {
    const { data } = await search(
      fixture.client,
      { aggregate: true, group_by: "metadata:n" },
      "/my/usage/search",
    );
    expect(data.map((row: Json) => [row.group_key, row.event_count])).toEqual([[null, 5]]);
  });

  test("page and limit leave groups alone", async () => {
    expect(await groups({ group_by: "day", page: 3, limit: 1 })).toHaveLength(7);
  });

  test("sums are exact", async () => {
    const tenant = await service.addTenant();
    await addSubscription(tenant, "x");
    const usages = [0.1, 0.2, 0.000001, 999_999_999_999, -999_999_999_999];
    const events = usages.flatMap((usage) =>
      Array.from({ length: 200 }, () => ({ external_subscription_id: "x", usage })),
    );
    await send(tenant.api, events);
    for (const group_by of [undefined, "client", "day"]) {
      const { data } = await search(tenant.api, { aggregate: true, ...(group_by ? { group_by } : {}) });
      expect(data.map((row: Json) => row.total_usage)).toEqual([60.0002]);
    }
  });

  test("the hour that a clock change repeats is two groups, the earlier first", async () => {
    const tenant = await service.addTenant({ timezone: "Europe/Berlin" });
    await addSubscription(tenant, "x");
    const at = ["2025-10-26T00:30Z", "2025-10-26T01:30Z", "2025-10-26T02:30Z"];
    await send(
      tenant.api,
      at.map((text, usage) => ({ external_subscription_id: "x", timestamp: ms(text), usage })),
    );
    for (const group_by of ["hour", ["client", "hour"]]) {
      const { data } = await search(tenant.api, { aggregate: true, group_by });
      expect(data.map((row: Json) => [row.group_key].flat().at(-1))).toEqual([
        "2025-10-26T02:00+02:00",
        "2025-10-26T02:00+01:00",
        "2025-10-26T03:00+01:00",
      ]);
    }
  });

  test("over 10,000 groups are a 422 that says how to narrow", async () => {
    const tenant = await service.addTenant();
    await addSubscription(tenant, "x");
    for (let sent = 0; sent < 10_001; sent += 1_000) {
      const length = Math.min(1_000, 10_001 - sent);
      const events = Array.from({ length }, (_, i) => {
        return { external_subscription_id: "x", usage: 1, timestamp: NOW - (sent + i) * HOUR };
      });
      expect((await send(tenant.api, events)).status).toBe(201);
    }
    for (const group_by of ["hour", ["client", "hour"]]) {
      const body = { aggregate: true, group_by };
      const answer = await tenant.api("POST", "/usage/search", body);
      expect(answer.status).toBe(422);
      expect(answer.body.error).toContain("over 10000 groups; narrow it by time");
      const rest = await search(tenant.api, { ...body, end_time: NOW });
      expect(rest.data).toHaveLength(10_000);
    }
  });
});
