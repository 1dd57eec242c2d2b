import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { fitted, readPlace, resumed } from "../../src/mcp/fit.ts";
import { propertyCases } from "../support/properties.ts";
import { type Json, type Service, startService, TestClock } from "../support/harness.ts";
import { agentFor, type McpClient } from "../support/mcp_clients.ts";
import { addUser, fillCompany, type FilledCompany, NOW } from "./fixtures.ts";

// Lists that agents go through by cursor while their rows come and go: what was there all the time is given once.

const clock = new TestClock(NOW);
let service: Service;
let company: FilledCompany;
let agent: McpClient;
let mine: McpClient;

beforeAll(async () => {
  service = await startService({
    clock,
    env: { NODE_ENV: "development", LOAN_SERVICE_KEY: "a-service-key" },
  });
  company = await fillCompany(service, clock);
  agent = await agentFor(service, service.admin_email);
  mine = await agentFor(service, (await addUser(service.api, "client", company.client)).email);
}, 180_000);
afterAll(async () => {
  await Promise.all([agent.close(), mine.close()]);
  await service.stop();
});

/** Pages of numbered rows, as a list answers them. */
function pageOf(ids: readonly number[], page: number, limit: number) {
  const meta = { page, limit, total: ids.length, total_pages: Math.ceil(ids.length / limit) };
  return { data: ids.slice((page - 1) * limit, page * limit).map((id) => ({ id })), meta };
}

test("rows that are there all the time are given once, however others come and go", async () => {
  const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(
      // Where no row stays, a single other one does not show whether the list rises or falls.
      fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 60 }),
      fc.array(numbers, { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 1, max: 9 }),
      fc.boolean(),
      async (stable, comings, limit, falls) => {
        const order = (a: number, b: number) => (falls ? b - a : a - b);
        const given: number[] = [];
        let cursor: string | undefined;
        for (let call = 0; call < 200; call++) {
          const ids = [...new Set([...stable, ...(comings[call % comings.length] ?? [])])].toSorted(order);
          const read = async (at: number | string | null) =>
            pageOf(ids, typeof at === "number" ? at : 1, limit);
          const { answer, place } = await resumed(readPlace(cursor, "page"), read);
          const { data, meta }: Json = fitted(answer, place, "ids");
          given.push(...data.map(({ id }: Json) => id));
          cursor = meta.next_cursor;
          if (cursor === undefined) break;
        }
        expect(cursor).toBeUndefined();
        expect(given).toEqual([...new Set(given)].toSorted(order));
        expect(stable.filter((id) => !given.includes(id))).toEqual([]);
      },
    ),
    propertyCases(500),
  );
});

test("a list in another order goes on after the row that was given last, if a page moved at most", async () => {
  const rank = (id: number) => (id * 37) % 61;
  const order = (a: number, b: number) => rank(a) - rank(b);
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 60 }),
      fc.array(fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { maxLength: 9 }), {
        minLength: 1,
        maxLength: 8,
      }),
      fc.integer({ min: 2, max: 9 }),
      async (stable, comings, limit) => {
        const given: number[] = [];
        let cursor: string | undefined;
        for (let call = 0; call < 200; call++) {
          const some = (comings[call % comings.length] ?? []).slice(0, Math.ceil(limit / 2));
          const ids = [...new Set([...stable, ...given.slice(-1), ...some])].toSorted(order);
          const read = async (at: number | string | null) =>
            pageOf(ids, typeof at === "number" ? at : 1, limit);
          const { answer, place } = await resumed(readPlace(cursor, "page"), read);
          const { data, meta }: Json = fitted(answer, place, "other");
          given.push(...data.map(({ id }: Json) => id));
          cursor = meta.next_cursor;
          if (cursor === undefined) break;
        }
        expect(cursor).toBeUndefined();
        expect(given).toEqual([...new Set(given)].toSorted(order));
        expect(stable.filter((id) => !given.includes(id))).toEqual([]);
      },
    ),
    propertyCases(300),
  );
});

test("the lists of all tools are in the order of ids, or say that they are not", async () => {
  const { api } = service;
  for (let i = 0; i < 3; i++) await api("POST", "/clients", { name: `More ${3 - i}` });
  const filled: string[] = [];
  for (const [client, others] of [
    [
      agent,
      [{}, { kind: "product" }, { kind: "billing_model" }, { kind: "run" }, { environment: "staging" }],
    ],
    [mine, [{}]],
  ] as const) {
    for (const { name, inputSchema } of await client.list()) {
      if (inputSchema.properties?.["cursor"] === undefined || name === "loan_find_consent_definitions")
        continue;
      for (const args of others) {
        const { is_error, structured } = await client.call(name, { ...args, limit: 50 }).catch(() => ({
          is_error: true,
          structured: undefined,
        }));
        const ids = is_error ? [] : [structured?.data ?? []].flat().map(({ id }: Json) => id);
        if (ids.length < 2 || ids.some((id: unknown) => typeof id !== "number")) continue;
        filled.push(name);
        const rising = ids.toSorted((a: number, b: number) => a - b);
        expect([name, args, [rising, rising.toReversed()]]).toEqual([
          name,
          args,
          expect.arrayContaining([ids]),
        ]);
      }
    }
  }
  expect(new Set(filled).size).toBeGreaterThanOrEqual(4);
});

describe("rows that are deleted while an agent goes through them", () => {
  const create = async (path: string, body: (i: number) => object, of = service.api): Promise<number[]> => {
    const ids: number[] = [];
    for (let i = 0; i < 6; i++) {
      const made = await of("POST", path, body(i));
      expect([path, made.status < 300, made.body.error]).toEqual([path, true, undefined]);
      ids.push(made.body.data.id);
    }
    return ids;
  };
  const cases: [tool: string, args: object, path: string, body: (i: number) => object][] = [
    ["billing_find_clients", { search: "Gone" }, "/clients", (i) => ({ name: `Gone ${i}` })],
    [
      "billing_find_catalog",
      { kind: "product", search: "Gone" },
      "/products",
      (i) => ({ name: `Gone ${i}` }),
    ],
    [
      "billing_find_catalog",
      { kind: "billing_model", search: "Gone" },
      "/billing-models",
      (i) => ({ name: `Gone ${i}`, billing_type_id: 1, price: 1, currency: "USD", description: "" }),
    ],
    [
      "billing_find_catalog",
      { kind: "meter" },
      "/meters",
      (i) => ({ code: `gone_${i}`, name: `Gone ${i}`, aggregation: "count" }),
    ],
    [
      "billing_find_webhook_deliveries",
      { kind: "endpoints" },
      "/webhooks",
      (i) => ({ url: `https://${i}.example/in`, event_types: ["client.created"] }),
    ],
    [
      "emandate_find_products",
      { search: "Gone" },
      "/emandate/products",
      (i) => ({ product_code: `GONE${i}`, product_name: "Gone", max_amount: "10.00", frequency: "Monthly" }),
    ],
  ];
  test.each(cases)("%s %j", async (name, args, path, body) => {
    const made = await create(path, body);
    const { structured: whole } = await agent.call(name, { ...args, limit: 50 });
    const ids: number[] = whole.data.map(({ id }: Json) => id);
    expect(made.every((id) => ids.includes(id))).toBe(true);
    const first = await agent.call(name, { ...args, limit: 2 });
    expect(first.structured.data.map(({ id }: Json) => id)).toEqual(ids.slice(0, 2));
    // All that was given is gone, the row of the cursor too, and one that was to come.
    const [one, other, , fourth] = ids;
    for (const id of [one, other, fourth]) {
      const gone = await service.api("DELETE", `${path}/${id}`);
      expect([path, gone.status, gone.body.error]).toEqual([path, 200, undefined]);
    }
    const rest: number[] = [];
    for (let cursor = first.structured.meta.next_cursor; cursor !== undefined; ) {
      const { structured } = await agent.call(name, { ...args, limit: 2, cursor });
      rest.push(...structured.data.map(({ id }: Json) => id));
      cursor = structured.meta.next_cursor;
    }
    expect(rest).toEqual(ids.slice(2).filter((id) => id !== fourth));
  });

  test("usage events, those of an answer that was cut too", async () => {
    const path = "/usage/events";
    const note = "a long note ".repeat(40);
    const events = Array.from({ length: 120 }, (_, i) => ({
      id: `0190a0b0-0000-7000-8000-${String(i).padStart(12, "0")}`,
      external_subscription_id: "acme-tokens",
      timestamp: Date.UTC(2026, 1, 10 + (i % 20)),
      usage: 1,
      metadata: { note, i },
    }));
    expect((await service.api("POST", path, events)).status).toBe(201);
    const args = { metadata: { note }, sort_order: "asc", limit: 120 };
    const first = await agent.call("billing_search_usage", args);
    const numbers = ({ data }: Json) => data.map(({ metadata }: Json) => metadata.i);
    const given: number[] = numbers(first.structured);
    expect(given.length).toBeLessThan(120);
    // Events of before the ninth day go, those that were given among them.
    const { usage } = service.deps;
    const { company_id } = service;
    await usage.closeBefore(company_id, Date.UTC(2026, 1, 15));
    while ((await usage.removeClosed(company_id, 1_000)) > 0);
    const rest: number[] = [];
    for (let { next_cursor: cursor } = first.structured.meta; cursor; ) {
      const { is_error, text, structured } = await agent.call("billing_search_usage", { ...args, cursor });
      expect([is_error, is_error && text]).toEqual([false, false]);
      rest.push(...numbers(structured));
      cursor = structured.meta.next_cursor;
    }
    expect([...given, ...rest]).toEqual([...new Set([...given, ...rest])]);
    const late = events.map(({ metadata }) => metadata.i).filter((i) => i % 20 >= 5);
    expect(late.filter((i) => !given.includes(i) && !rest.includes(i))).toEqual([]);
  });
});
