import { beforeAll, describe, expect, test } from "bun:test";
import { writeCursor } from "../../../src/usage/search/cursor.ts";
import { type Json, TestClock, useService } from "../../support/harness.ts";
import { addCatalog } from "../../billing/subscriptions/fixtures.ts";
import { addSubscription, ms, search, send, uuid } from "../fixtures.ts";

const NOON = "2026-03-09T12:00:00.000Z";
const MINUTE = 60_000;
const EVENTS = 25;

const clock = new TestClock(NOON);

/** Event n is n minutes old, of usage n % 3, with the id uuid(n). */
const numbers = Array.from({ length: EVENTS }, (_, n) => n);

const service = useService({ clock });
const { api } = service;

beforeAll(async () => {
  await addSubscription(service, "x");
  const events = numbers.map((n) => ({
    id: uuid(n),
    external_subscription_id: "x",
    timestamp: ms(NOON) - n * MINUTE,
    usage: n % 3,
    metadata: { parity: n % 2 === 0 ? "even" : "odd" },
  }));
  expect((await send(api, events)).status).toBe(201);
});

const numberOf = ({ id }: Json): number => Number.parseInt(id.slice(24), 16);

/** The numbers of the events on every page, walked by cursor. */
async function walk(body: Json, as = api, path = "/usage/search"): Promise<number[]> {
  const found: number[] = [];
  let cursor: string | undefined;
  for (let page = 1; page <= EVENTS; page++) {
    const { data, meta } = await search(as, cursor === undefined ? body : { ...body, cursor }, path);
    expect(meta.page).toBe(page);
    found.push(...data.map(numberOf));
    if (meta.next_cursor === null) return found;
    cursor = meta.next_cursor;
  }
  throw new Error("Cannot walk the pages: they do not end");
}

async function firstCursor(body: Json, as = api): Promise<string> {
  return (await search(as, { limit: 10, ...body })).meta.next_cursor;
}

describe("pages by cursor", () => {
  const even = numbers.filter((n) => n % 2 === 0);
  const byUsage = numbers.toSorted((a, b) => (b % 3) - (a % 3) || b - a);
  test.each<[string, Json, number[]]>([
    ["all", { limit: 4 }, numbers],
    ["in pages of one", { limit: 1, metadata: { parity: "even" } }, even],
    ["that end with a full page", { limit: 5 }, numbers],
    ["of one page", { limit: 200 }, numbers],
    ["the oldest first", { limit: 7, sort_order: "asc" }, numbers.toReversed()],
    ["by usage, with ties", { limit: 4, sort_by: "usage" }, byUsage],
    ["by usage, the least first", { limit: 4, sort_by: "usage", sort_order: "asc" }, byUsage.toReversed()],
    ["of nothing", { metadata: { parity: "none" } }, []],
  ])("%s", async (_, body, expected) => {
    expect(await walk(body)).toEqual(expected);
  });

  test("go on after a page that was asked for by its number, with another limit", async () => {
    const second = await search(api, { page: 2, limit: 5 });
    expect(second.meta).toMatchObject({ page: 2, total: EVENTS, total_pages: 5 });
    const third = await search(api, { cursor: second.meta.next_cursor, limit: 3 });
    expect(third.data.map(numberOf)).toEqual([10, 11, 12]);
    expect(third.meta).toMatchObject({ page: 3, limit: 3, total: EVENTS, total_pages: 9 });
  });

  test("keep the window of the first page, whatever the time", async () => {
    const body = { relative: "last_1h", limit: 10 };
    const { meta } = await search(api, body);
    clock.set("2026-03-09T12:55:00.000Z");
    try {
      expect((await search(api, body)).meta.total).toBe(6);
      const next = await search(api, { ...body, cursor: meta.next_cursor });
      expect(next.data.map(numberOf)).toEqual(numbers.slice(10, 20));
      expect(next.meta.total).toBe(EVENTS);
    } finally {
      clock.set(NOON);
    }
  });

  test("say the same of what is asked for in another order or by default", async () => {
    const cursor = await firstCursor({ max_usage: 5, min_usage: -1 });
    const { data } = await search(api, {
      sort_order: "desc",
      min_usage: -1,
      sort_by: "timestamp",
      max_usage: 5,
      cursor,
    });
    expect(data.map(numberOf)).toEqual(numbers.slice(10));
  });
});

describe("a cursor is refused", () => {
  async function expectRefusal(body: Json, path = "/cursor", as = api, url = "/usage/search") {
    const answer = await as("POST", url, body);
    expect([answer.status, answer.body.details?.map((detail: Json) => detail.path)]).toEqual([422, [path]]);
  }

  test("with any other search", async () => {
    const body = { metadata: { parity: "even" }, start_time: 5, limit: 3 };
    const cursor = await firstCursor(body);
    expect((await search(api, { ...body, cursor })).data).toHaveLength(3);
    for (const other of [
      { sort_order: "asc" },
      { sort_by: "usage" },
      { metadata: { parity: "odd" } },
      { metadata: undefined },
      { metadata_search: "e" },
      { start_time: 6 },
      { relative: "last_24h" },
      { external_subscription_ids: ["x"] },
      { max_usage: 10 },
    ]) {
      await expectRefusal({ ...body, ...other, cursor });
    }
  });

  test("with page, and with aggregate", async () => {
    const cursor = await firstCursor({});
    await expectRefusal({ cursor, page: 2 }, "/page");
    await expectRefusal({ cursor, aggregate: true });
  });

  test("of another company, and of the company to its client", async () => {
    const tenant = await service.addTenant();
    const { client_id } = await addCatalog(service);
    const client = await service.addUser(service, "client", client_id);
    const cursor = await firstCursor({});
    await expectRefusal({ cursor }, "/cursor", tenant.api);
    await expectRefusal({ cursor }, "/cursor", client, "/my/usage/search");
  });

  test("when it is damaged or made up", async () => {
    const cursor = await firstCursor({});
    const text = (content: unknown) => Buffer.from(JSON.stringify(content)).toString("base64url");
    const content = JSON.parse(Buffer.from(cursor, "base64url").toString());
    const made_up = [
      "",
      "x",
      "%%%",
      "😀",
      "\u0000",
      cursor.slice(0, -1),
      cursor.slice(1),
      `${cursor}AAAA`,
      Buffer.from("[1").toString("base64url"),
      ...[null, 1, [], {}, { ...content, more: 1 }, { ...content, mark: undefined }].map(text),
      ...[
        { page: 0 },
        { page: 3 },
        { page: 1e300 },
        { start_ms: 1 },
        { end_ms: "1" },
        { value: "1" },
        { value: "1e9" },
        { value: "1) OR (1=1" },
        { id: uuid(1) },
        { id: "x' OR ''='" },
        { mark: "" },
      ].map((change) => text({ ...content, ...change })),
    ];
    for (const wrong of made_up) await expectRefusal({ cursor: wrong });
    const position = { page: 2, window: {}, after: { value: "1", id: uuid(1) } };
    const marked = [
      { ...position, after: { value: "1.5", id: uuid(1) } },
      { ...position, after: { value: "-1", id: uuid(1) } },
      { ...position, window: { start_ms: 1e300 } },
      { ...position, window: { end_ms: -1 } },
    ].map((change) => writeCursor({ company_id: service.company_id }, {}, change));
    for (const wrong of marked) await expectRefusal({ cursor: wrong });
    const of_usage = { ...position, after: { value: "1234567890123", id: uuid(1) } };
    const by_usage = { sort_by: "usage" } as const;
    const cursor_of_usage = writeCursor({ company_id: service.company_id }, by_usage, of_usage);
    await expectRefusal({ ...by_usage, cursor: cursor_of_usage });
    for (const wrong of [5, null, {}, "x".repeat(501)]) await expectRefusal({ cursor: wrong });
  });
});
