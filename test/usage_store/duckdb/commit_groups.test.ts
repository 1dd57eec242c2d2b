import { afterAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { prepareAppend, toMillionths, usageOf } from "../../../src/usage_store/append/append_request.ts";
import { hourSums } from "../../../src/usage_store/duckdb/append/hour_sums.ts";
import { openDuckDb } from "../../../src/usage_store/duckdb/duckdb_store.ts";
import { SipHash } from "../../../src/usage_store/index/siphash.ts";
import { HOUR_MS } from "../../../src/usage_store/time_buckets.ts";
import { modelEvent } from "../arbitrary_events.ts";
import { failure, TIMEOUT_MS } from "../conformance.ts";
import { decimalText } from "../reference_model.ts";
import { propertyCases } from "../../support/properties.ts";

const folder = await mkdtemp(join(tmpdir(), "usage-"));
afterAll(() => rm(folder, { recursive: true }));

let files = 0;
const open = (options: Partial<Parameters<typeof openDuckDb>[0]>) =>
  openDuckDb({ path: join(folder, `${++files}.duckdb`), ...options });

const NOW_MS = 1_800_000_000_000;
const FOREVER_MS = 60_000_000;

/** One event in each of the hours, with large, small and negative usages among them. */
const hourly = (hours: number) =>
  Array.from({ length: hours }, (_, hour) =>
    modelEvent({
      timestamp: NOW_MS + hour * HOUR_MS,
      millionths: [999_999_999_999_999_999n, -1n, 0n, -999_999_999_999_999_999n, 1_500_000n][hour % 5] ?? 0n,
    }),
  );

describe("a group of appends", () => {
  test("begins when it is ready, by its events or by its requests, without waiting for more", async () => {
    const store = await open({ group_ms: FOREVER_MS, ready_requests: 4, group_events: 81 });
    const large = [store.append(1, hourly(1), NOW_MS), store.append(2, hourly(80), NOW_MS)];
    expect(await Promise.all(large)).toMatchObject([{ accepted: 1 }, { accepted: 80 }]);
    const many = Array.from({ length: 8 }, () => store.append(1, [modelEvent()], NOW_MS));
    expect(await Promise.all(many)).toEqual(many.map(() => ({ accepted: 1, duplicates: 0 })));
    await store.close();
  });

  test("is answered one by one, though it shares a commit: what is refused keeps nothing else back", async () => {
    const store = await open({ group_ms: FOREVER_MS, ready_requests: 4, group_events: 200 });
    const event = modelEvent({ millionths: 1n });
    const answers = await Promise.allSettled([
      store.append(1, [event], NOW_MS),
      store.append(1, [event], NOW_MS),
      store.append(2, [event], NOW_MS),
      store.append(1, [modelEvent(), { ...event, usage: "9.5" }], NOW_MS),
    ]);
    expect(answers).toMatchObject([
      { value: { accepted: 1, duplicates: 0 } },
      { value: { accepted: 0, duplicates: 1 } },
      { value: { accepted: 1, duplicates: 0 } },
      { reason: { kind: "conflict" } },
    ]);
    expect(await store.check(null, TIMEOUT_MS)).toMatchObject({ events: 2, different: 0 });
    await store.close();
  });

  test("may hold an event that may only repeat a stored one, and refuses it when it is new", async () => {
    const store = await open({ group_ms: FOREVER_MS, ready_requests: 2, group_events: 100 });
    const late = { ...modelEvent(), only_if_stored: "is too late" };
    const [refused, stored] = [
      failure(store.append(1, [late], NOW_MS)),
      store.append(1, [modelEvent()], NOW_MS),
    ];
    expect(await refused).toMatchObject({ kind: "invalid", details: [{ path: "/0/timestamp" }] });
    expect(await stored).toEqual({ accepted: 1, duplicates: 0 });
    await store.close();
  });

  for (const hours of [1, 32, 33, 500]) {
    test(`has the sums of its events, in ${hours} hours`, async () => {
      const store = await open({});
      await store.append(1, hourly(hours), NOW_MS);
      await Promise.all([store.append(1, hourly(hours), NOW_MS), store.append(2, hourly(hours), NOW_MS)]);
      expect(await store.check(null, TIMEOUT_MS)).toEqual({
        hours: hours * 2,
        events: hours * 3,
        different: 0,
      });
      await store.close();
    });
  }
});

describe("usages, before they are stored", () => {
  const hash = new SipHash(new Uint8Array(16));
  const bound = 999_999_999_999_999_999n;
  const millionths = fc.oneof(
    fc.bigInt(-bound, bound),
    fc.bigInt(-2_000_000n, 2_000_000n),
    // Around the sizes at which numbers end, and 32 bits.
    fc
      .tuple(fc.constantFrom(10n ** 15n, 2n ** 53n, 2n ** 32n, 2n ** 31n), fc.bigInt(-3n, 3n), fc.boolean())
      .map(([size, more, is_negative]) => (is_negative ? -(size + more) : size + more)),
  );
  const prepared = (usages: readonly bigint[]) =>
    prepareAppend(
      1,
      usages.map((usage) => ({ ...modelEvent({ timestamp: NOW_MS }), usage: decimalText(usage) })),
      NOW_MS,
      hash,
    );

  test("are exact", () => {
    fc.assert(
      fc.property(millionths, (usage) => {
        expect(BigInt(usageOf(prepared([usage]), 0))).toBe(usage);
        expect(toMillionths(decimalText(usage))).toBe(usage);
      }),
      propertyCases(300),
    );
  });

  test("are summed exactly", () => {
    fc.assert(
      fc.property(fc.array(millionths, { minLength: 1, maxLength: 9 }), (usages) => {
        const request = { ...prepared(usages), resolve: () => undefined, reject: () => undefined };
        const fresh = usages.map((_, position) => position);
        const decision = { request, fresh, duplicates: 0, refusal: undefined, depends_on_batch: false };
        const [sum] = hourSums([decision]);
        const sorted = usages.toSorted((a, b) => (a < b ? -1 : 1));
        expect([sum?.total, sum?.low, sum?.high].map((value) => BigInt(value ?? 0))).toEqual([
          usages.reduce((total, usage) => total + usage, 0n),
          sorted[0] ?? 0n,
          sorted.at(-1) ?? 0n,
        ]);
      }),
      propertyCases(200),
    );
  });
});
