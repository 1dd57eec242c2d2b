import { beforeAll, expect, test } from "bun:test";
import * as fc from "fast-check";
import { type Json, TestClock, useService } from "../../support/harness.ts";
import { decimalText } from "../../usage_store/reference_model.ts";
import { addCatalog } from "../../billing/subscriptions/fixtures.ts";
import { addSubscription, ms, search, send } from "../fixtures.ts";

// Random events, random searches; the answers are compared with those of a plain loop over all events.

const ZONE = "America/New_York";
const clock = new TestClock("2026-03-20T12:00:00.000Z");
const RUNS = 100;
const EVENTS = 600;

interface Fact {
  id: string;
  external_id: string;
  timestamp: number;
  millionths: number;
  metadata: Record<string, string>;
}

let facts: Fact[];
const subscriptions = new Map<string, Json>();

const service = useService({ clock, timezone: ZONE });

beforeAll(async () => {
  const a = await addCatalog(service);
  const b = { ...(await addCatalog(service)), product_id: a.product_id };
  const c = { ...a, product_id: (await addCatalog(service)).product_id };
  for (const [external_id, catalog] of [
    ["s1", a],
    ["s2", b],
    ["s3", c],
    ["s4", a],
  ] as const) {
    subscriptions.set(external_id, await addSubscription(service, external_id, catalog));
  }
  facts = fc.sample(fact, { numRuns: EVENTS, seed: 20_261_121 });
  for (let start = 0; start < EVENTS; start += 200) {
    const events = facts.slice(start, start + 200).map(({ external_id, millionths, ...event }) => {
      return { ...event, external_subscription_id: external_id, usage: millionths / 1e6 };
    });
    expect((await send(service.api, events)).status).toBe(201);
  }
});

const REGIONS = ["eu", "us", "EU West", "100%"];

// Around the day on which New York's clocks go forward.
const instant = fc.integer({ min: ms("2026-03-06T00:00Z"), max: ms("2026-03-10T00:00Z") });
// Few values, so that there are ties.
const millionths = fc.oneof(
  fc.integer({ min: -4, max: 4 }).map((n) => n * 500_000),
  fc.integer({ min: -9e12, max: 9e12 }),
);

const fact: fc.Arbitrary<Fact> = fc.record({
  id: fc.uuid(),
  external_id: fc.constantFrom("s1", "s2", "s3", "s4"),
  timestamp: fc.oneof(instant, fc.constant(ms("2026-03-08T07:00Z"))),
  millionths,
  metadata: fc.dictionary(fc.constantFrom("region", "zone"), fc.constantFrom(...REGIONS)),
});

const some = <T>(values: readonly T[]) => fc.uniqueArray(fc.constantFrom(...values), { minLength: 1 });
const grouping = fc.oneof(
  fc.constantFrom("subscription", "client", "product", "day", "hour", "month"),
  fc.constantFrom("metadata:region", "metadata:zone"),
);

/** Searches over names of subscriptions; `ofNames` puts ids for them. */
const query = fc.record(
  {
    clients_of: some(["s1", "s2"]),
    products_of: some(["s1", "s3"]),
    subscriptions_of: some(["s1", "s2", "s3"]),
    external_subscription_ids: some(["s1", "s4", "nobody"]),
    metadata: fc.dictionary(fc.constantFrom("region", "zone"), fc.constantFrom(...REGIONS), { maxKeys: 1 }),
    metadata_search: fc.constantFrom("e", "WEST", "0%", "zone"),
    start_time: instant,
    end_time: instant,
    min_usage: fc.constantFrom(-1, 0, 0.5, -0.0000001),
    max_usage: fc.constantFrom(-1, 0, 0.5, 1e6),
    sort_by: fc.constantFrom("timestamp" as const, "usage" as const),
    sort_order: fc.constantFrom("asc" as const, "desc" as const),
    page: fc.integer({ min: 1, max: 4 }),
    limit: fc.integer({ min: 1, max: 200 }),
    group_by: fc.oneof(grouping, fc.uniqueArray(grouping, { minLength: 2, maxLength: 2 })),
  },
  { requiredKeys: [] },
);
type Query = typeof query extends fc.Arbitrary<infer Q> ? Q : never;

const idsOf = (names: string[], field: string): number[] =>
  names.map((name) => subscriptions.get(name)[field]);

/** The query as it is sent. */
function ofNames({ clients_of, products_of, subscriptions_of, ...rest }: Query): Json {
  return {
    ...rest,
    ...(clients_of && { client_ids: idsOf(clients_of, "client_id") }),
    ...(products_of && { product_ids: idsOf(products_of, "product_id") }),
    ...(subscriptions_of && { subscription_ids: idsOf(subscriptions_of, "id") }),
  };
}

function matching(body: Json): Fact[] {
  return facts.filter((event) => {
    const of = subscriptions.get(event.external_id);
    const usage = event.millionths / 1e6;
    return (
      (body.client_ids?.includes(of.client_id) ?? true) &&
      (body.product_ids?.includes(of.product_id) ?? true) &&
      (body.subscription_ids?.includes(of.id) ?? true) &&
      (body.external_subscription_ids?.includes(event.external_id) ?? true) &&
      Object.entries(body.metadata ?? {}).every(([key, value]) => event.metadata[key] === value) &&
      (body.metadata_search === undefined ||
        Object.values(event.metadata).some((text) =>
          text.toLowerCase().includes(body.metadata_search.toLowerCase()),
        )) &&
      event.timestamp >= (body.start_time ?? 0) &&
      event.timestamp < (body.end_time ?? Number.POSITIVE_INFINITY) &&
      usage >= (body.min_usage ?? Number.NEGATIVE_INFINITY) &&
      usage <= (body.max_usage ?? Number.POSITIVE_INFINITY)
    );
  });
}

test("a page of events is what a loop over all events finds", async () => {
  await fc.assert(
    fc.asyncProperty(query, async (asked) => {
      const body = ofNames(asked);
      const { sort_by = "timestamp", sort_order = "desc", page = 1, limit = 50 } = asked;
      const sign = sort_order === "asc" ? 1 : -1;
      const found = matching(body).toSorted((a, b) => {
        const by = sort_by === "usage" ? a.millionths - b.millionths : a.timestamp - b.timestamp;
        return sign * (by || (a.id < b.id ? -1 : 1));
      });
      const { data, meta } = await search(service.api, body);
      expect(meta.total).toBe(found.length);
      expect(data).toEqual(
        found.slice((page - 1) * limit, page * limit).map((event) => ({
          id: event.id,
          subscription_id: `${service.company_id}:${event.external_id}`,
          timestamp: event.timestamp,
          usage: event.millionths / 1e6,
          metadata: event.metadata,
          created_at: "2026-03-20T12:00:00.000Z",
        })),
      );
      expect(meta.next_cursor === null).toBe(page * limit >= found.length);
      if (meta.next_cursor === null) return;
      const next = await search(service.api, { ...body, page: undefined, cursor: meta.next_cursor });
      expect(next.meta).toMatchObject({ page: page + 1, total: found.length });
      expect(next.data.map(({ id }: Json) => id)).toEqual(
        found.slice(page * limit, (page + 1) * limit).map(({ id }) => id),
      );
    }),
    { numRuns: RUNS },
  );
});

function keyOf(kind: string, { external_id, timestamp, metadata }: Fact): string | null {
  if (kind.startsWith("metadata:")) return metadata[kind.slice(9)] ?? null;
  const of = subscriptions.get(external_id);
  if (kind === "subscription") return `${service.company_id}:${external_id}`;
  if (kind === "client" || kind === "product") return String(of[`${kind}_id`]);
  const local = Temporal.Instant.fromEpochMilliseconds(timestamp).toZonedDateTimeISO(ZONE);
  const hour = `${local.toPlainDate().toString()}T${String(local.hour).padStart(2, "0")}:00${local.offset}`;
  return { day: hour.slice(0, 10), month: hour.slice(0, 7), hour }[kind] ?? "";
}

function byKey(a: Json, b: Json): number {
  return JSON.stringify(a.group_key) < JSON.stringify(b.group_key) ? -1 : 1;
}

test("groups are what a loop over all events sums", async () => {
  await fc.assert(
    fc.asyncProperty(query, async (asked) => {
      const body = ofNames(asked);
      const kinds = [asked.group_by ?? []].flat();
      const groups = new Map<string, Fact[]>(kinds.length === 0 ? [['"total"', []]] : []);
      for (const event of matching(body)) {
        const keys = kinds.map((kind) => keyOf(kind, event));
        const key = JSON.stringify(keys.length > 1 ? keys : kinds.length === 0 ? "total" : keys[0]);
        groups.set(key, [...(groups.get(key) ?? []), event]);
      }
      const expected = [...groups].map(([key, events]) => {
        const usages = events.map((event) => event.millionths);
        return {
          group_key: JSON.parse(key),
          total_usage: Number(decimalText(usages.reduce((sum, usage) => sum + BigInt(usage), 0n))),
          event_count: events.length,
          min_usage: events.length === 0 ? null : Math.min(...usages) / 1e6,
          max_usage: events.length === 0 ? null : Math.max(...usages) / 1e6,
        };
      });
      const { data } = await search(service.api, { ...body, aggregate: true });
      const named = expected.map((row) => ({
        ...row,
        group_name: row.group_key === null ? null : expect.anything(),
      }));
      expect(data.toSorted(byKey)).toEqual(named.toSorted(byKey));
      expect(isOrdered(data, kinds, asked)).toBe(true);
    }),
    { numRuns: RUNS },
  );
});

/** Whether the rows are in the order that the query means. */
function isOrdered(rows: Json[], kinds: string[], { sort_by, sort_order }: Query): boolean {
  const by_time = kinds.some((kind) => ["day", "hour", "month"].includes(kind));
  const by_key = sort_by === undefined ? by_time : sort_by === "timestamp";
  const ascends = sort_order === undefined ? sort_by === undefined && by_time : sort_order === "asc";
  const [low, high] = ascends ? [0, 1] : [1, 0];
  return rows.slice(1).every((_, i) => {
    const pair = [rows[i], rows[i + 1]];
    if (!by_key) return pair[low].total_usage <= pair[high].total_usage;
    return inOrderText(pair[low]) <= inOrderText(pair[high]);
  });
}

/** Ids here have as many digits, and no hour is repeated: text is in order, and what has no key is last. */
function inOrderText({ group_key }: Json): string {
  return [group_key]
    .flat()
    .map((key) => key ?? "\uffff")
    .join("|");
}
