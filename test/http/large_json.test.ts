import { beforeAll, describe, expect, test } from "bun:test";
import { assert, jsonValue, property } from "fast-check";
import { AppError } from "../../src/core/errors.ts";
import { LIMITS } from "../../src/http/limits.ts";
import { LIMITS as USAGE_LIMITS } from "../../src/usage/limits.ts";
import { parseJson } from "../../src/http/json.ts";
import { addSubscription } from "../usage/fixtures.ts";
import { NDJSON } from "../usage/ingest/streams.ts";
import { useService } from "../support/harness.ts";

// Bodies that are within their bytes and would still take long to walk.

const service = useService();

beforeAll(async () => {
  await addSubscription(service, "acme");
});

const keys = (count: number, prefix = "k") =>
  Array.from({ length: count }, (_, i) => `"${prefix}${i}":1`).join(",");
const ids = (count: number) => Array.from({ length: count }, () => "1").join(",");
const event = (metadata: string) => `{"external_subscription_id":"acme","usage":1,"metadata":{${metadata}}}`;
const entries = `must have at most ${LIMITS.body_members} entries`;

describe("one array or object with too many entries is refused at its place, before anything walks it", () => {
  test.each([
    ["unknown keys", "/clients", `{${keys(380_000)}}`, ""],
    ["unknown keys of an event", "/usage/events", `{${keys(380_000)}}`, ""],
    ["unknown keys of the second event", "/usage/events", `[${event("")},{${keys(300_000)}}]`, "/1"],
    ["ids", "/usage/search", `{"aggregate":true,"client_ids":[${ids(2_500_000)}]}`, "/client_ids"],
    ["keys of metadata", "/usage/events", event(keys(400_000)), "/metadata"],
    ["deep in metadata", "/usage/events", event(`"a/b":[1,{"c~":[${ids(20_000)}]}]`), "/metadata/a~1b/1/c~0"],
    ["keys of a filter", "/usage/search", `{"metadata":{${keys(300_000)}}}`, "/metadata"],
  ])("%s", async (_, path, body, place) => {
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(LIMITS.body_bytes);
    const answer = await service.api("POST", path, body);
    expect([answer.status, answer.body.details]).toEqual([422, [{ path: place, message: entries }]]);
  });

  test("in a line of a stream it is the line's problem", async () => {
    const body = `${event("")}\n${event(`"a":[${ids(10_001)}]`)}\n`;
    const answer = await service.api("POST", "/usage/events", body, NDJSON);
    expect([answer.status, answer.body.line]).toEqual([422, 2]);
    expect(answer.body.details).toEqual([{ path: "/metadata/a", message: entries }]);
  });
});

test("a body of many small objects is refused for all of them together", async () => {
  const item = `{${keys(9_000)}}`;
  const answer = await service.api("POST", "/clients", `{"name":[${Array(6).fill(item).join(",")}]}`);
  const message = `must hold at most ${LIMITS.body_values} values in all`;
  expect([answer.status, answer.body.details]).toEqual([422, [{ path: "", message }]]);
});

test("a text that is too long is refused at its place, before anything looks at it", async () => {
  const long = "x".repeat(LIMITS.body_text_bytes + 1);
  const message = `must be at most ${LIMITS.body_text_bytes} bytes long`;
  for (const [body, path] of [
    [{ name: "x".repeat(5_000_000) }, "/name"],
    [{ name: "x", [long]: 1 }, ""],
    [{ name: ["", { a: [1, long] }] }, "/name/1/a/1"],
    [[long], "/0"],
    [long, ""],
  ] as const) {
    const answer = await service.api("POST", "/clients", JSON.stringify(body));
    expect([answer.status, answer.body.details]).toEqual([422, [{ path, message }]]);
  }
  expect((await service.api("POST", "/clients", { name: long.slice(2) })).body.error).toStartWith(
    "name must be 1 to 200",
  );
});

test("a batch may be as large as its events may, and a stream as long as it likes", async () => {
  const full = event(keys(USAGE_LIMITS.usage_metadata_keys));
  const batch = Array(USAGE_LIMITS.usage_batch).fill(full);
  expect((await service.api("POST", "/usage/events", `[${batch.join(",")}]`)).status).toBe(201);
  // Over the values of three batches.
  const line = event(`"a":[${ids(4_000)}]`);
  const stream = await service.api("POST", "/usage/events", Array(200).fill(line).join("\n"), NDJSON);
  expect(stream.body).toEqual({ data: { accepted: 200, duplicates: 0 } });
});

test("of many broken rules the first hundred are reported", async () => {
  const unknown = await service.api("POST", "/clients", `{${keys(9_000)}}`);
  expect([unknown.status, unknown.body.details.length]).toEqual([422, 100]);
  const search = { client_ids: Array.from({ length: 1_000 }, () => "x") };
  const invalid = await service.api("POST", "/usage/search", search);
  expect([invalid.status, invalid.body.details.length]).toEqual([422, 100]);
  const sent = await service.api("POST", "/usage/events", `{${keys(9_000)}}`);
  expect([sent.status, sent.body.details.length]).toEqual([422, 100]);
});

describe("a number that no double holds", () => {
  test.each([
    ["/usage/events", event('"a":1e400'), "/metadata/a"],
    ["/usage/events", event(`"a":${"9".repeat(250)}e99`), "/metadata/a"],
    ["/usage/events", `[${event("")},${event('"a":{"b":[0,-1E+0400]}')}]`, "/1/metadata/a/b/1"],
    ["/usage/events", event(`"a":${"9".repeat(400)}`), "/metadata/a"],
    ["/usage/search", '{"min_usage":1e999}', "/min_usage"],
  ])("is refused, not made null: POST %s %s", async (path, body, place) => {
    const answer = await service.api("POST", path, body);
    const details = [{ path: place, message: "must be a number that a double can hold" }];
    expect([answer.status, answer.body.details]).toEqual([422, details]);
  });

  test("differs from a text that looks like one, and from a small one", async () => {
    const metadata = '"text":"1e400","digits":"'.concat("9".repeat(400), '","small":1e-400,"large":1e308');
    expect((await service.api("POST", "/usage/events", event(metadata))).status).toBe(201);
  });
});

test("whatever is within the bounds reads as JSON.parse reads it, what is not is reported at a place that exists", () => {
  const bounds = { depth: 6, members: 5, values: 40, text_bytes: 1_000 };
  const holds = (value: unknown): void => {
    const text = JSON.stringify(value);
    const size = measure(value);
    const read = () => parseJson(Buffer.from(text), "It", bounds).value;
    if (size.depth <= bounds.depth && size.members <= bounds.members && size.values <= bounds.values) {
      expect(read()).toEqual(JSON.parse(text));
      return;
    }
    try {
      // Commas and brackets are counted, which are fewer than the values.
      expect(read()).toEqual(JSON.parse(text));
      expect(size.values).toBeGreaterThan(bounds.values);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const [{ path, message } = { path: "?", message: "" }] = error.details ?? [];
      if (!message.includes("entries")) return;
      expect(Object.keys(Object(at(value, path))).length).toBeGreaterThan(bounds.members);
    }
  };
  assert(property(jsonValue({ maxDepth: 8 }), holds), { numRuns: 500 });
});

/** How deep a value is, how many entries its largest part has, and how many values it holds. */
function measure(value: unknown): { depth: number; members: number; values: number } {
  if (typeof value !== "object" || value === null) return { depth: 0, members: 0, values: 1 };
  const parts = Object.values(value).map(measure);
  return {
    depth: 1 + Math.max(0, ...parts.map(({ depth }) => depth)),
    members: Math.max(parts.length, ...parts.map(({ members }) => members)),
    values: 1 + parts.reduce((sum, { values }) => sum + values, 0),
  };
}

/** What stands at a JSON pointer. */
function at(value: unknown, path: string): unknown {
  return path
    .split("/")
    .slice(1)
    .reduce((part: unknown, key) => Object(part)[key.replaceAll("~1", "/").replaceAll("~0", "~")], value);
}
