import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Json, type Service, startService, TestClock } from "../support/harness.ts";
import { agentFor, type McpClient, tokensOf } from "../support/mcp_clients.ts";
import { addUser, fillCompany, type FilledCompany, NOW } from "./fixtures.ts";

// Sums as models read them, and answers that go on: decision 0288.

/** What a model reads at most of one answer. */
const ANSWER_TOKENS = 8_000;
const detailed = { response_format: "detailed" };
const MODELS = ["large", "small", "tiny", "other"];

const clock = new TestClock(NOW);
let service: Service;
let company: FilledCompany;
let agent: McpClient;
let mine: McpClient;

beforeAll(async () => {
  service = await startService({ clock });
  company = await fillCompany(service, clock);
  agent = await agentFor(service, service.admin_email);
  mine = await agentFor(service, (await addUser(service.api, "client", company.client)).email);
  await Promise.all([agent.list(), mine.list()]);
});
afterAll(async () => {
  await Promise.all([agent.close(), mine.close()]);
  await service.stop();
});

async function sums(args: object, as = agent): Promise<Json> {
  const name = as === agent ? "billing_search_usage" : "billing_search_my_usage";
  const { is_error, text, structured } = await as.call(name, args);
  expect([is_error, is_error && text]).toEqual([false, false]);
  expect(tokensOf(text)).toBeLessThanOrEqual(ANSWER_TOKENS);
  return structured;
}

const send = async (events: object[]) => {
  for (let i = 0; i < events.length; i += 1_000)
    expect((await service.api("POST", "/usage/events", events.slice(i, i + 1_000))).status).toBe(201);
};

describe("a table of sums", () => {
  test("names its columns once, one where key and name are the same, and gives the total beside", async () => {
    const { data } = await sums({ group_by: "metadata:model", relative: "this_month" });
    expect(data).toEqual({
      columns: ["metadata:model", "total_usage", "event_count"],
      rows: [
        ["large", 101, 2],
        ["small", 20, 1],
      ],
      total: { groups: 2, total_usage: 121, event_count: 3 },
    });
    const { client, product } = company;
    const named = await sums({ group_by: ["client", "product", "subscription"], relative: "this_month" });
    expect(named.data.columns.slice(0, 6)).toEqual([
      "client_id",
      "client",
      "product_id",
      "product",
      "subscription_id",
      "subscription",
    ]);
    const key = expect.stringMatching(/^\d+:acme-tokens$/);
    expect(named.data.rows).toEqual([[client, "Acme", product, "Tokens", key, "Acme tokens", 121, 3]]);
  });

  test("has the smallest and largest usage in the detailed form", async () => {
    const asked = { group_by: "metadata:model", relative: "this_month", response_format: "detailed" };
    const { data } = await sums(asked);
    expect(data.columns.slice(-2)).toEqual(["min_usage", "max_usage"]);
    expect(data.rows[0]).toEqual(["large", 101, 2, 1, 100]);
  });

  test("without groups is the total", async () => {
    const { data } = await sums({ aggregate: true, relative: "this_month" });
    expect(data).toEqual({
      columns: ["total_usage", "event_count"],
      rows: [[121, 3]],
      total: { groups: 1, total_usage: 121, event_count: 3 },
    });
  });

  test("has every day of its window that has begun, also without usage", async () => {
    const { data } = await sums({ group_by: "day", relative: "this_month" });
    expect(data.rows).toEqual(
      [100, 20, 1, 0, 0, 0, 0, 0, 0, 0].map((usage, i) => [
        `2026-03-${String(i + 1).padStart(2, "0")}`,
        usage,
        usage > 0 ? 1 : 0,
      ]),
    );
    const months = await sums({ group_by: "month", start_time: "2026-01-01T00:00:00Z" });
    expect(months.data.rows).toEqual([
      ["2026-01", 0, 0],
      ["2026-02", 35, 2],
      ["2026-03", 121, 3],
    ]);
    const hours = await sums({
      group_by: "hour",
      start_time: "2026-03-01T09:00:00Z",
      end_time: "2026-03-01T12:00:00Z",
    });
    expect(hours.data.rows).toEqual([
      ["2026-03-01T09:00+00:00", 0, 0],
      ["2026-03-01T10:00+00:00", 100, 1],
      ["2026-03-01T11:00+00:00", 0, 0],
    ]);
    // Without a window, from the first to the last day of usage.
    const all = await sums({ group_by: "day" });
    expect([all.data.rows.length, all.data.rows[0], all.data.rows.at(-1)]).toEqual([
      29,
      ["2026-02-03", 30, 1],
      ["2026-03-03", 1, 1],
    ]);
  });

  test("has the largest groups and the others as one, also by day, and comes to the same", async () => {
    const asked = { relative: "last_90d", group_by: "metadata:model" };
    const first = await sums({ ...asked, limit: 1 });
    expect(first.data).toEqual({
      columns: ["metadata:model", "total_usage", "event_count"],
      rows: [["large", 131, 3]],
      total: { groups: 2, total_usage: 156, event_count: 5 },
      others: { groups: 1, total_usage: 25, event_count: 2 },
    });
    const by_day = await sums({ ...asked, group_by: ["day", "metadata:model"], limit: 1 });
    expect(by_day.data.rows.map(([day, model]: Json[]) => [day, model])).toEqual([
      ["2026-02-03", "large"],
      ["2026-03-01", "large"],
      ["2026-03-03", "large"],
    ]);
    expect(by_day.data.others).toEqual({
      groups: 1,
      total_usage: 25,
      event_count: 2,
      rows: [
        ["2026-02-04", 5, 1],
        ["2026-03-02", 20, 1],
      ],
    });
  });

  test("comes to what REST's groups come to", async () => {
    const rest = { relative: "last_90d", aggregate: true, group_by: ["day", "metadata:model"] };
    const { body } = await service.api("POST", "/usage/search", rest);
    const { data } = await sums({ relative: "last_90d", group_by: ["day", "metadata:model"] });
    expect(data.rows).toEqual(
      body.data.map(({ group_key, total_usage, event_count }: Json) => [
        ...group_key,
        total_usage,
        event_count,
      ]),
    );
  });

  test("refuses a limit of days, and a fourth group, and is a client's own", async () => {
    const refusal = async (args: object) => (await agent.call("billing_search_usage", args)).text;
    expect(await refusal({ group_by: "day", limit: 3 })).toContain("limit must be left out");
    const four = ["day", "client", "product", "metadata:model"];
    expect(await refusal({ group_by: four })).toContain("group_by");
    const own = await sums({ group_by: "metadata:model", relative: "this_month" }, mine);
    expect(own.data.total).toEqual({ groups: 2, total_usage: 121, event_count: 3 });
  });
});

describe("an answer that does not fit", () => {
  const START = Date.UTC(2026, 2, 5);
  const EVENTS = 1_200;

  beforeAll(async () => {
    const event = (i: number) => ({
      external_subscription_id: "acme-tokens",
      timestamp: START + i,
      usage: 0.000001 * (i + 1),
      metadata: { model: MODELS[i % MODELS.length], request: `${i}`.padStart(40, "0") },
    });
    await send(Array.from({ length: EVENTS }, (_, i) => event(i)));
  });

  /** Every part of an answer, following its cursor. */
  async function all(name: string, args: object, rows: (structured: Json) => Json[]): Promise<Json[]> {
    const found: Json[] = [];
    let cursor: string | undefined;
    for (let calls = 0; calls < 60; calls++) {
      const { is_error, text, structured } = await agent.call(name, {
        ...args,
        ...(cursor ? { cursor } : {}),
      });
      expect([is_error, is_error && text]).toEqual([false, false]);
      expect(tokensOf(text)).toBeLessThanOrEqual(ANSWER_TOKENS);
      found.push(...rows(structured));
      cursor = structured.meta?.next_cursor;
      if (!cursor) return found;
    }
    throw new Error("It never ends");
  }

  test("goes on row by row with the cursor: events, each once", async () => {
    const asked = { start_time: START, end_time: START + EVENTS, limit: 200, sort_order: "asc" };
    const events = await all("billing_search_usage", asked, ({ data }) => data);
    expect(events.map(({ metadata }) => Number(metadata.request))).toEqual(
      Array.from({ length: EVENTS }, (_, i) => i),
    );
  });

  test("goes on through a table, whose total is that of the whole", async () => {
    const asked = { start_time: START, end_time: START + EVENTS, group_by: "hour" };
    expect((await sums(asked)).data.total.event_count).toBe(EVENTS);
    const wide = { relative: "last_90d", group_by: "hour" };
    const rows = await all("billing_search_usage", wide, ({ data }) => data.rows);
    expect(rows.length).toBe(90 * 24 + 1);
    expect(new Set(rows.map(([hour]) => hour)).size).toBe(rows.length);
    const first = await sums(wide);
    expect(first.meta).toMatchObject({ list: "data.rows", from: 0, total: rows.length });
  });

  test("goes on through the pages of a list", async () => {
    for (let i = 0; i < 45; i++)
      await service.api("POST", "/clients", { name: `Client ${i} ${"with a long name ".repeat(8)}` });
    const names = await all("billing_find_clients", { limit: 10 }, ({ data }) => data);
    const { body } = await service.api("GET", "/clients");
    expect(names.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual(
      body.data.map(({ id }: Json) => id).toSorted((a: number, b: number) => a - b),
    );
    // One page that does not fit goes on inside of it.
    const wide = await all(
      "billing_find_clients",
      { limit: 200, response_format: "detailed" },
      ({ data }) => data,
    );
    expect(new Set(wide.map(({ id }) => id)).size).toBe(body.data.length);
  });

  test("a record too long for a model is refused in a list, and goes on alone", async () => {
    const label = "A label that is rather long, as those of forms for loans are ".repeat(3);
    const fields = Array.from({ length: 180 }, (_, i) => ({ name: `field_${i}`, label, type: "text" }));
    const config = { title: "Long", fields };
    const saved = await mine.call("forms_save_my_form", { name: "Long form", config });
    const form_id = saved.structured.data.id;
    const listed = await mine.call("forms_find_my_forms", { search: "Long form", ...detailed });
    expect([listed.is_error, listed.text]).toEqual([
      true,
      expect.stringMatching(/would have \d{5} characters.*response_format concise/),
    ]);
    const first = await mine.call("forms_find_my_forms", { form_id, ...detailed });
    const { list, total, next_cursor } = first.structured.meta;
    expect([list, total]).toEqual(["data.0.config.fields", fields.length]);
    const rest = await mine.call("forms_find_my_forms", { form_id, ...detailed, cursor: next_cursor });
    const [one, other] = [first, rest].map(({ structured }) => structured.data[0].config.fields);
    expect([...one, ...other]).toEqual(fields);
    expect(rest.structured.meta.next_cursor).toBeUndefined();
  });

  test("refuses a cursor that is none", async () => {
    const forged = Buffer.from(JSON.stringify([-1, 0])).toString("base64url");
    for (const cursor of ["nonsense", forged, "bnVsbA"]) {
      const { is_error, text } = await agent.call("billing_find_clients", { cursor });
      expect([is_error, text]).toEqual([true, expect.stringContaining("cursor must be the next_cursor")]);
    }
  });
});
