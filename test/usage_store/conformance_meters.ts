/** What every usage store measures by meters, as cases: part of conformance.ts. */
import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { MeasureQuery, MeterTerms, MeterUse } from "../../src/usage_store/meter.ts";
import { metadataKeysOf } from "../../src/usage_store/meter_reader.ts";
import { propertyCases } from "../support/properties.ts";
import { anyInstant, anyKey, modelEvent } from "./arbitrary_events.ts";
import { anyMeter, anyText, eventsWithNumbers } from "./arbitrary_meters.ts";
import type { Subject } from "./conformance_search.ts";
import { failure, NOW_MS, TIMEOUT_MS } from "./fixtures.ts";
import { measured } from "./meter_model.ts";

const PLAIN: MeterTerms = {
  aggregation: "sum",
  value: [{ key: "usage", times: "1" }],
  filters: [],
  percentile: null,
  carry_over: false,
};

const anyParts = fc.oneof(
  fc.record({
    matches: fc.array(fc.dictionary(anyKey, anyText, { minKeys: 1, maxKeys: 2 }), { maxLength: 3 }),
  }),
  fc.record({ keys: fc.uniqueArray(anyKey, { maxLength: 3 }) }),
);

const anyUse: fc.Arbitrary<MeterUse> = fc.record({
  meter: anyMeter,
  parts: anyParts,
  except: fc.option(fc.array(anyMeter, { maxLength: 2 }), { nil: undefined }),
});

const anyWindow = fc
  .tuple(
    fc.integer({ min: 1, max: 4 }),
    fc.uniqueArray(anyInstant, { minLength: 3, maxLength: 3 }),
    fc.nat(2),
  )
  .map(([subscription_id, instants, use]) => {
    const [since_ms = 0, start_ms = 0, end_ms = 0] = instants.toSorted((a, b) => a - b);
    return { subscription_id, since_ms, start_ms, end_ms, use, whole_ms: end_ms - start_ms + 7 };
  });

/** What a bill asks: several uses of the same windows, divided alike or not at all, and what none of the meters counts. */
const aPlansQuestion = fc
  .record({
    meters: fc.array(anyMeter, { minLength: 1, maxLength: 4 }),
    parts: anyParts,
    divided: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
    windows: fc.array(anyWindow, { minLength: 1, maxLength: 3 }),
  })
  .map(({ meters, parts, divided, windows }) => {
    const whole = { matches: [] };
    const charges = meters.map((meter, i): MeterUse => ({ meter, parts: divided[i] ? parts : whole }));
    const uses = [...charges, { meter: PLAIN, parts: whole, except: meters }];
    return { uses, windows: uses.flatMap((_, use) => windows.map((one) => ({ ...one, use }))) };
  });

const anyQuestion = fc.oneof(
  fc.record({
    uses: fc.array(anyUse, { minLength: 3, maxLength: 3 }),
    windows: fc.array(anyWindow, { maxLength: 6 }),
  }),
  aPlansQuestion,
);

export function meterCases({ store, company }: Subject): void {
  const measure = async (query: MeasureQuery) => {
    const found = await store().measure(query, TIMEOUT_MS);
    return found.map((parts) =>
      parts.toSorted((a, b) => (JSON.stringify(a.part) < JSON.stringify(b.part) ? -1 : 1)),
    );
  };

  const START_MS = 1_760_000_000_000;
  const window = {
    subscription_id: 1,
    since_ms: 0,
    start_ms: START_MS,
    end_ms: NOW_MS,
    use: 0,
    whole_ms: 1_000,
  };

  async function quantityOf(meter: Partial<MeterTerms>, values: readonly unknown[], how = {}) {
    const events = values.map((v, i) => modelEvent({ timestamp: START_MS + i, object: { v } }));
    const company_id = await company(events);
    const uses = [
      { meter: { ...PLAIN, value: [{ key: "metadata:v", times: "1" }], ...meter }, parts: { keys: [] } },
    ];
    const [parts] = await measure({ company_id, uses, windows: [{ ...window, ...how }], max_parts: 10 });
    const [part] = parts ?? [];
    return [part?.quantity, part?.event_count, part?.skipped_events];
  }

  test("plain sums stand beside what other meters measure, of whatever windows, up to a number", async () => {
    const events = Array.from({ length: 40 }, (_, i) =>
      modelEvent({
        subscription_id: 1 + (i % 2),
        timestamp: START_MS + i,
        millionths: BigInt(i - 5) * 250_000n,
        object: i % 3 === 0 ? { v: "x" } : null,
      }),
    );
    const company_id = await company(events);
    const last_seq = await store().lastSeq(company_id, TIMEOUT_MS);
    const later = modelEvent({ subscription_id: 1, timestamp: START_MS + 3 });
    await store().append(company_id, [later], NOW_MS + 1_000);
    const whole = { matches: [] };
    const filtered = { ...PLAIN, filters: [{ key: "v", op: "exists", values: [] }] } as const;
    const uses: MeterUse[] = [
      { meter: filtered, parts: whole },
      { meter: PLAIN, parts: whole },
      { meter: PLAIN, parts: whole, except: [filtered] },
      { meter: PLAIN, parts: { keys: ["v"] } },
      { meter: { ...PLAIN, value: [{ key: "usage", times: "2" }] }, parts: whole },
    ];
    const windows = uses.flatMap((_, use) =>
      [0, 7, 39, 50].map((from, i) => ({
        ...window,
        subscription_id: 1 + (i % 2),
        start_ms: START_MS + from,
        end_ms: START_MS + 40 + i,
        use,
      })),
    );
    const query = { company_id, uses, windows, max_parts: 100 };
    const inOrder = (parts: ReturnType<typeof measured>[number]) =>
      parts.toSorted((a, b) => (JSON.stringify(a.part) < JSON.stringify(b.part) ? -1 : 1));
    expect(await measure({ ...query, last_seq })).toEqual(measured(events, query).map(inOrder));
    expect(await measure({ ...query, created_until_ms: NOW_MS + 1 })).toEqual(
      measured(events, query).map(inOrder),
    );
    expect(await measure(query)).toEqual(measured([...events, later], query).map(inOrder));
    const quick = await measure({ ...query, last_seq, without_digests: true });
    const rest = (parts: ReturnType<typeof measured>) =>
      parts.map((some) => some.map((part) => ({ ...part, digest: "" })));
    expect(rest(quick)).toEqual(rest(measured(events, query).map(inOrder)));
    const few = failure(store().measure({ ...query, max_parts: 3 }, TIMEOUT_MS));
    expect((await few).kind).toBe("invalid");
  });

  test.each<[string, unknown[], (string | number)[]]>([
    ["numbers and strings of digits", [1, "2.5", -0.25], ["3.25", 3, 0]],
    [
      "what is no number is skipped",
      ["x", "", " 1", "+1", "1e3", "1_000", true, null, {}, [1], "1."],
      ["0", 0, 11],
    ],
    ["a number in exponent form", [1e-7, 1e11, 1.5e-6], ["100000000000.000002", 3, 0]],
    [
      "a number of 1e12 or more is skipped",
      [999_999_999_999, 1e12, 1e21, "1000000000000"],
      ["999999999999", 1, 3],
    ],
    ["halves are rounded away from zero", ["0.0000005", "-0.0000005", "0.000000499999"], ["0", 3, 0]],
    ["a float's own digits count", [0.1 + 0.2, 0.1 + 0.2], ["0.6", 2, 0]],
  ])("a sum of %s", async (_, values, expected) => {
    expect(await quantityOf({}, values)).toEqual(expected);
  });

  test.each<[string, Partial<MeterTerms>, unknown[], string]>([
    ["average", { aggregation: "average" }, [1, 1, 0], "0.666667"],
    ["average below zero", { aggregation: "average" }, [-1, -1, 0], "-0.666667"],
    ["percentile 50 of an even number", { aggregation: "percentile", percentile: "50" }, [4, 1, 3, 2], "2"],
    // 0.55 × 100 is more than 55 in binary.
    [
      "percentile 55 of 100",
      { aggregation: "percentile", percentile: "55" },
      Array.from({ length: 100 }, (_, i) => i + 1),
      "55",
    ],
    [
      "unique texts, a number and its digits being one",
      { aggregation: "unique" },
      ["a", 5, "5", "A", true, "true", null],
      "4",
    ],
  ])("%s", async (_, meter, values, expected) => {
    expect((await quantityOf(meter, values))[0]).toBe(expected);
  });

  test("a number is read to twelve digits, however small it is", async () => {
    const tiny = [8e-14, 9e-136, -8e-20, 5e-13];
    const million = [{ key: "metadata:v", times: "999999" }];
    expect(await quantityOf({ value: million }, tiny)).toEqual(["0.000001", 4, 0]);
    expect(await quantityOf({ aggregation: "unique" }, [...tiny, 0])).toEqual(["2", 5, 0]);
  });

  test("a sum of terms of 1e12 or more is skipped, and fails no question", async () => {
    const most = 999_999_999_999;
    const numbers = [most, `-${most}`, 1, "99999999999.999999"];
    const events = numbers.map((n, i) =>
      modelEvent({ timestamp: START_MS + i, object: { n }, millionths: BigInt(most) * 1_000_000n }),
    );
    const company_id = await company(events);
    const total = async (...value: [key: string, times: string][]) => {
      const terms = value.map(([key, times]) => ({ key, times }));
      const uses = [{ meter: { ...PLAIN, value: terms }, parts: { keys: [] } }];
      const [[part] = []] = await measure({ company_id, uses, windows: [window], max_parts: 10 });
      return [part?.quantity, part?.event_count, part?.skipped_events];
    };
    expect(await total(["usage", "1"], ["metadata:n", "1"])).toEqual(["0", 1, 3]);
    expect(await total(["usage", "1"], ["metadata:n", "-1"])).toEqual(["1899999999997.000001", 3, 1]);
    expect(await total(["metadata:n", "1"], ["metadata:n", "1"])).toEqual(["200000000001.999998", 2, 2]);
  });

  test("a level is what was added up before, times how long it lasted", async () => {
    const values = [5, 2];
    const how = { start_ms: START_MS - 10, end_ms: START_MS + 2, whole_ms: 12 };
    // 5 for two of twelve, 2 for one.
    expect((await quantityOf({ aggregation: "weighted_sum" }, values, how))[0]).toBe("1");
    const later = { since_ms: START_MS, start_ms: START_MS + 10, end_ms: START_MS + 20, whole_ms: 10 };
    expect((await quantityOf({ aggregation: "weighted_sum" }, values, later))[0]).toBe("7");
    expect((await quantityOf({ aggregation: "latest", carry_over: true }, values, later))[0]).toBe("2");
    expect((await quantityOf({ aggregation: "latest" }, values, later))[0]).toBeUndefined();
  });

  test("more parts than allowed are refused", async () => {
    const company_id = await company(
      [1, 2, 3].map((v) => modelEvent({ timestamp: START_MS, object: { v } })),
    );
    const uses = [{ meter: PLAIN, parts: { keys: ["v"] } }];
    const query = { company_id, uses, windows: [window] };
    expect((await measure({ ...query, max_parts: 3 }))[0]).toHaveLength(3);
    expect((await failure(measure({ ...query, max_parts: 2 }))).kind).toBe("invalid");
  });

  test("it measures as the plain model does, digests included, also when all that meters do not read is erased", async () => {
    await fc.assert(
      fc.asyncProperty(eventsWithNumbers, anyQuestion, async (events, { uses, windows }) => {
        const query = { company_id: await company(events), uses, windows, max_parts: 10_000 };
        const found = await measure(query);
        expect(found).toEqual(measured(events, query));
        expect(await measure({ ...query, without_digests: true })).toEqual(
          found.map((parts) => parts.map((part) => ({ ...part, digest: "0".repeat(32) }))),
        );
        const keep = uses.flatMap(({ meter, parts, except = [] }) => {
          const group_keys = "keys" in parts ? parts.keys : parts.matches.flatMap(Object.keys);
          return [meter, ...except].flatMap((one) => metadataKeysOf({ ...one, group_keys }));
        });
        const ids = events.map(({ id }) => id);
        await store().erase(query.company_id, ids, keep);
        expect(await measure(query)).toEqual(found);
      }),
      propertyCases(3, 40),
    );
  });
}
