import { beforeAll, expect, test } from "bun:test";
import * as fc from "fast-check";
import { MEASURES } from "../../../src/usage_store/series.ts";
import { addCatalog, type Catalog } from "../../billing/subscriptions/fixtures.ts";
import { type Api, type Json, type Tenant, TestClock, useService } from "../../support/harness.ts";
import { propertyCases } from "../../support/properties.ts";
import { decimalText } from "../../usage_store/reference_model.ts";
import { addSubscription, ms, search, send, uuid } from "../fixtures.ts";

// Random events, random questions; the answers are compared with those of a plain loop over all events.

const ZONE = "America/New_York";
const service = useService({ clock: new TestClock("2026-03-20T12:00:00.000Z"), timezone: ZONE });

interface Fact {
  external_id: string;
  timestamp: number;
  millionths: number;
  metadata: Record<string, string>;
}

const fact: fc.Arbitrary<Fact> = fc.record({
  external_id: fc.constantFrom("s1", "s2", "s3", "s4"),
  timestamp: fc.integer({ min: ms("2026-03-01T00:00Z"), max: ms("2026-03-19T00:00Z") }),
  millionths: fc.integer({ min: -9, max: 9 }).map((n) => n * 250_000),
  metadata: fc.dictionary(fc.constantFrom("region", "zone"), fc.constantFrom("eu", "us", "EU West")),
});
const facts = fc.sample(fact, { numRuns: 300, seed: 20_261_124 });
const records = new Map<string, Json>();
let other: Tenant;
let client: Api;

beforeAll(async () => {
  const a = await addCatalog(service);
  const b = { ...(await addCatalog(service)), product_id: a.product_id };
  const c: Catalog = { ...a, billing_model_id: b.billing_model_id };
  for (const [name, catalog] of Object.entries({ s1: a, s2: b, s3: c, s4: a }))
    records.set(name, await addSubscription(service, name, catalog));
  for (let start = 0; start < facts.length; start += 100) {
    const events = facts.slice(start, start + 100).map(({ external_id, millionths, ...event }, i) => {
      return {
        ...event,
        id: uuid(start + i),
        external_subscription_id: external_id,
        usage: millionths / 1e6,
      };
    });
    expect((await send(service.api, events)).status).toBe(201);
  }
  client = await service.addUser(service, "client", a.client_id);
  other = await service.addTenant();
  await addSubscription(other, "s1");
});

const ask = (question: Json, api = service.api, path = "/usage/series") => search(api, question, path);

const keyOf = (field: string, { external_id, metadata }: Fact): string | null => {
  if (field.startsWith("metadata:")) return metadata[field.slice(9)] ?? null;
  if (field === "subscription") return `${service.company_id}:${external_id}`;
  return String(records.get(external_id)[`${field}_id`]);
};

const FIELDS = ["client", "product", "subscription", "billing_model", "metadata:region", "metadata:zone"];
const field = fc.constantFrom(...FIELDS);

/** A filter by values that some events have. */
const filter = fc
  .tuple(
    field,
    fc.constantFrom("is", "is_not", "present", "missing"),
    fc.array(fc.constantFrom(...facts), { minLength: 1, maxLength: 2 }),
  )
  .map(([of, op, some]) => ({ field: of, op, some }));

const question = fc.record({
  from: fc.integer({ min: ms("2026-03-01T00:00Z"), max: ms("2026-03-12T00:00Z") }),
  length: fc.integer({ min: 1, max: 8 * 86_400_000 }),
  interval: fc.constantFrom("auto", "hour", "day", "week", "month"),
  measure: fc.constantFrom(...MEASURES),
  group_by: fc.uniqueArray(field, { maxLength: 2 }),
  top: fc.integer({ min: 1, max: 5 }),
  filters: fc.array(filter, { maxLength: 2 }),
  min_usage: fc.constantFrom<number | undefined>(undefined, -1),
  compare: fc.constantFrom(undefined, { to: "before" }, { to: "before", align_weekdays: true }),
});
type Question = typeof question extends fc.Arbitrary<infer Q> ? Q : never;

function matching(
  { filters, min_usage = Number.NEGATIVE_INFINITY }: Question,
  from: number,
  to: number,
): Fact[] {
  return facts.filter(
    (event) =>
      event.timestamp >= from &&
      event.timestamp < to &&
      event.millionths / 1e6 >= min_usage &&
      filters.every(({ field: of, op, some }) => {
        const key = keyOf(of, event);
        const is = some.some((one) => keyOf(of, one) !== null && keyOf(of, one) === key);
        return op === "present" ? key !== null : op === "missing" ? key === null : (op === "is") === is;
      }),
  );
}

function measured(measure: string, events: Fact[]): number | null {
  const usages = events.map(({ millionths }) => millionths);
  const total = usages.reduce((sum, usage) => sum + usage, 0);
  if (measure === "units") return total / 1e6;
  if (measure === "events") return events.length;
  if (measure === "active_subscriptions") return new Set(events.map(({ external_id }) => external_id)).size;
  if (events.length === 0) return null;
  if (measure === "smallest") return Math.min(...usages) / 1e6;
  if (measure === "largest") return Math.max(...usages) / 1e6;
  const nearest = Math.floor((2 * Math.abs(total) + events.length) / (2 * events.length));
  return Number(decimalText(BigInt(Math.sign(total) * nearest)));
}

/** Holds the lines of an answer, or of what it compares with, to the events in its buckets. */
function holdLines(asked: Question, lines: Json): void {
  const { measure, group_by, top } = asked;
  const [from, to] = [ms(lines.from), ms(lines.to)];
  const events = matching(asked, from, to);
  const edges = [...lines.buckets.map(({ start }: Json) => ms(start)), to];
  expect(edges[0]).toBe(from);
  for (const [i, { end }] of lines.buckets.entries()) expect(ms(end)).toBe(edges[i + 1] ?? 0);
  const hold = ({ value, values }: Json, of: Fact[]) => {
    expect(value).toBe(measured(measure, of));
    expect(values).toEqual(
      edges.slice(0, -1).map((start, i) =>
        measured(
          measure,
          of.filter(({ timestamp }) => timestamp >= start && timestamp < edges[i + 1]),
        ),
      ),
    );
  };
  hold(lines.total, events);
  const isOf = (keys: (string | null)[], event: Fact) =>
    group_by.every((of, i) => keyOf(of, event) === keys[i]);
  for (const group of lines.groups) {
    hold(
      group,
      events.filter((event) => isOf(group.keys, event)),
    );
    for (const [i, of] of group_by.entries()) {
      const record = [...records.values()].find((one) =>
        of === "subscription"
          ? group.keys[i] === `${service.company_id}:${one.external_subscription_id}`
          : String(one[`${of}_id`]) === group.keys[i],
      );
      expect(group.ids[i]).toBe(
        of.startsWith("metadata:") ? null : record[of === "subscription" ? "id" : `${of}_id`],
      );
    }
    expect(group.names.map((name: string | null) => name === null)).toEqual(
      group.keys.map((key: string | null) => key === null),
    );
  }
  const others = events.filter((event) => !lines.groups.some(({ keys }: Json) => isOf(keys, event)));
  if (group_by.length === 0 || others.length === 0) expect(lines.other).toBeNull();
  else hold(lines.other, others);
  if (lines.group_count === undefined) return;
  const groups = new Set(events.map((event) => JSON.stringify(group_by.map((of) => keyOf(of, event)))));
  expect(lines.group_count).toBe(group_by.length === 0 ? 0 : groups.size);
  expect(lines.groups).toHaveLength(Math.min(top, lines.group_count));
  const best = [...groups]
    .map(
      (text) =>
        measured(
          measure,
          events.filter((event) => isOf(JSON.parse(text), event)),
        ) ?? 0,
    )
    .toSorted((a, b) => (measure === "smallest" ? a - b : b - a));
  expect(lines.groups.map(({ value }: Json) => value)).toEqual(best.slice(0, lines.groups.length));
}

function bodyOf({ from, length, filters, ...rest }: Question): Json {
  const at = (instant: number) => Temporal.Instant.fromEpochMilliseconds(instant).toString();
  return {
    ...rest,
    ...(rest.group_by.length === 0 && { group_by: undefined }),
    range: { from: at(from), to: at(from + length) },
    filters: filters.map(({ field: of, op, some }) => ({
      field: of,
      op,
      values: op.startsWith("is") ? some.map((one) => keyOf(of, one) ?? "no such value") : undefined,
    })),
  };
}

test("a series is what a loop over all events finds, as JSON and as lines", async () => {
  await fc.assert(
    fc.asyncProperty(question, async (asked) => {
      const body = bodyOf(asked);
      const { data, meta } = await ask(body);
      holdLines(asked, data);
      expect(data.compare === null).toBe(asked.compare === undefined);
      if (data.compare !== null) {
        holdLines(asked, data.compare);
        expect(data.compare.groups.map(({ keys }: Json) => keys)).toEqual(
          data.groups.map(({ keys }: Json) => keys),
        );
        expect(data.compare.buckets).toHaveLength(data.buckets.length);
        expect(data.compare.total.change).toBe(changed(data.total.value, data.compare.total.value));
        for (const [i, { value, change }] of data.compare.groups.entries())
          expect(change).toBe(changed(data.groups[i].value, value));
      }
      expect(meta.matched).toBe(matching(asked, ms(data.from), ms(data.to)).length);
      expect(meta.as_of).toBe("2026-03-20T12:00:00.000Z");
      const lines = await linesOf(body);
      expect(lines.at(-1)).toMatchObject({ data, is_last: true, read_from: data.from });
    }),
    propertyCases(12, 200),
  );
});

const changed = (now: number | null, then: number | null) =>
  now === null || then === null || then === 0 ? null : Number(((now - then) / Math.abs(then)).toFixed(6));

test.each(MEASURES)("%s of running days changes by the days that are over", async (measure) => {
  const range = { from: "2026-03-17", to: "2026-03-22" };
  const { data } = await ask({
    range,
    interval: "day",
    measure,
    group_by: "metadata:region",
    compare: { to: "before" },
  });
  expect(data.buckets.map(({ partial }: Json) => partial)).toEqual([false, false, false, true, true]);
  const over = (day: string, holds: (event: Fact) => boolean) => {
    const start = ms(`${day}T04:00:00Z`);
    const within = ({ timestamp }: Fact) => timestamp >= start && timestamp < start + 3 * 86_400_000;
    return measured(
      measure,
      facts.filter((event) => within(event) && holds(event)),
    );
  };
  const expected = (holds: (event: Fact) => boolean) =>
    changed(over("2026-03-17", holds), over("2026-03-12", holds));
  expect(data.compare.total.change).toBe(expected(() => true));
  for (const {
    keys: [region],
    change,
  } of data.compare.groups)
    expect(change).toBe(expected(({ metadata }) => (metadata.region ?? null) === region));
});

test("beside a range are those before and after it, by local time", async () => {
  const { data } = await ask({ range: { month: "2026-03" } });
  expect(data.before).toEqual({ from: "2026-02-01T05:00:00.000Z", to: "2026-03-01T05:00:00.000Z" });
  expect(data.after).toEqual({ from: "2026-04-01T04:00:00.000Z", to: "2026-05-01T04:00:00.000Z" });
});

async function linesOf(body: Json): Promise<Json[]> {
  const answer = await service.api("POST", "/usage/series", body, { accept: "application/x-ndjson" });
  expect(answer.headers.get("content-type")).toBe("application/x-ndjson");
  const text = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body);
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

test("contains looks into names, external ids and values, whatever the case", async () => {
  const count = async (of: string, text: string) => {
    const filters = [{ field: of, op: "contains", values: [text] }];
    const { meta } = await ask({ range: { relative: "all" }, filters });
    return meta.matched;
  };
  const having = (holds: (event: Fact) => boolean) => facts.filter(holds).length;
  expect(await count("metadata:region", "WEST")).toBe(
    having(({ metadata }) => metadata.region === "EU West"),
  );
  expect(await count("subscription", "name of S2")).toBe(having(({ external_id }) => external_id === "s2"));
  const {
    client: { name },
  } = (await service.api("GET", `/subscriptions/${records.get("s2").id}`)).body.data;
  expect(await count("client", name.toUpperCase().slice(1))).toBeGreaterThan(0);
  expect(await count("client", "no such client")).toBe(0);
});

test("a range is a month, a billing period, all time, or instants up to now", async () => {
  const range = async (given: Json) => {
    const { data } = await ask({ range: given });
    return [data.from, data.to, data.interval];
  };
  expect(await range({ month: "2026-03" })).toEqual([
    "2026-03-01T05:00:00.000Z",
    "2026-04-01T04:00:00.000Z",
    "day",
  ]);
  expect(await range({ relative: "all" })).toEqual([
    "2026-02-01T05:00:00.000Z",
    "2026-04-01T04:00:00.000Z",
    "day",
  ]);
  const { id } = records.get("s1");
  expect(await range({ period_of: id, on: "2025-12-24" })).toEqual([
    "2025-12-01T05:00:00.000Z",
    "2026-01-01T05:00:00.000Z",
    "day",
  ]);
  expect((await range({ period_of: id }))[1]).toBe("2026-04-01T04:00:00.000Z");
  expect(await range({ from: "2026-03-20T11:00:00Z" })).toEqual([
    "2026-03-20T11:00:00.000Z",
    "2026-03-20T12:00:00.000Z",
    "minute",
  ]);
  const { data } = await ask({ range: { month: "2026-03" } });
  expect(data.buckets.filter(({ partial }: Json) => partial)[0].start).toBe("2026-03-20T04:00:00.000Z");
  expect(data.buckets.filter(({ partial }: Json) => partial)).toHaveLength(12);
});

test.each<[Json, number, string]>([
  [{ range: {}, interval: "year" }, 422, "/interval"],
  [{ range: { month: "2026-13" } }, 422, "/range/month"],
  [{ range: { from: "2026-03-02T00:00:00Z", to: "2026-03-02T00:00:00Z" } }, 422, "/range/to"],
  [{ range: { month: "2026-03" }, interval: "minute" }, 422, "/interval"],
  [{ range: { from: "1970-01-01T00:00:00Z", to: "9999-01-01T00:00:00Z" } }, 422, "/range"],
  [{ group_by: ["client", "client"] }, 422, "/group_by"],
  [{ group_by: ["client", "product", "metadata:a"] }, 422, "/group_by"],
  [{ group_by: "colour" }, 422, "/group_by"],
  [{ top: 51 }, 422, "/top"],
  [{ filters: [{ field: "client", op: "is" }] }, 422, "/filters/0/values"],
  [{ filters: [{ field: "metadata:a", op: "present", values: ["x"] }] }, 422, "/filters/0/values"],
  [{ filters: [{ field: "client", op: "is", values: ["1", "1e0"] }] }, 422, "/filters/0/values/1"],
  [{ filters: [{ field: "client", op: "is_not", values: ["999999"] }] }, 403, ""],
  [{ range: { period_of: 999_999 } }, 404, ""],
  [{ colour: 1 }, 422, "/colour"],
])("%j is refused with %i", async (body, status, path) => {
  const answer = await service.api("POST", "/usage/series", body);
  expect([answer.status, answer.body.details?.[0]?.path ?? ""]).toEqual([status, path]);
});

test("a client user sees its own usage, and neither it nor another company anybody else's", async () => {
  const { client_id } = records.get("s1");
  const own = facts.filter(({ external_id }) => records.get(external_id).client_id === client_id);
  const mine = { range: { month: "2026-03" }, group_by: ["client", "billing_model"], measure: "events" };
  const { data } = await ask(mine, client, "/my/usage/series");
  expect(data.total.value).toBe(
    matching({ filters: [] } as never, ms(data.from), ms(data.to)).filter((event) => own.includes(event))
      .length,
  );
  expect(data.groups.map(({ keys }: Json) => keys[0])).toEqual([String(client_id), String(client_id)]);
  const foreign = String(records.get("s2").client_id);
  const by = (api: Api, path: string, of: string, value: string) =>
    api("POST", path, { ...mine, filters: [{ field: of, op: "is", values: [value] }] });
  expect((await by(client, "/my/usage/series", "client", foreign)).status).toBe(403);
  expect((await by(other.api, "/usage/series", "client", foreign)).status).toBe(403);
  expect(
    (await by(other.api, "/usage/series", "billing_model", String(records.get("s1").billing_model_id)))
      .status,
  ).toBe(403);
  const empty = await by(client, "/my/usage/series", "subscription", `${service.company_id}:s2`);
  expect(empty.body.data.total.value).toBe(0);
  expect((await client("POST", "/usage/series", mine)).status).toBe(403);
  const theirs = await ask(mine, other.api);
  expect([theirs.data.total.value, theirs.data.groups]).toEqual([0, []]);
  const period = { range: { period_of: records.get("s2").id } };
  expect((await client("POST", "/my/usage/series", period)).status).toBe(404);
});
