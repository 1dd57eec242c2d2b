import { describe, expect, test } from "bun:test";
import { type TSchema, Type } from "@sinclair/typebox";
import * as fc from "fast-check";
import { AppError } from "../../src/core/errors.ts";
import { hasInstants, InstantMs, InstantText, rangeFields, readInstants } from "../../src/core/instants.ts";
import { nullable, strict } from "../../src/core/schema.ts";
import { decode } from "../../src/core/validate.ts";

// Instants as people write them, against what Temporal says that they are.

const NOW = Temporal.Instant.from("2026-11-20T04:00:00Z");
const ZONES = ["UTC", "Asia/Kuala_Lumpur", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"];
const FORMS =
  "an ISO 8601 date-time with an offset, or without one in the company's time zone, or Unix milliseconds, from 1970 to 9999";

/** Reads a sent value as an operation of a company in the zone gets it. */
async function read(schema: TSchema, value: unknown, timezone = "UTC"): Promise<unknown> {
  return readInstants(schema, decode(schema, value), NOW, async () => [{ timezone, from: null }]);
}

const At = strict({ at: InstantText, ms: Type.Optional(InstantMs) });

async function refusal(schema: TSchema, value: unknown, timezone?: string): Promise<unknown> {
  const error = await read(schema, value, timezone).catch((thrown: unknown) => thrown);
  return error instanceof AppError ? error.details : error;
}

describe("an instant", () => {
  test.each([
    ["2026-10-01T09:00:00+08:00", "Asia/Kathmandu", "2026-10-01T01:00:00.000Z"],
    ["2026-10-01T09:00", "Asia/Kuala_Lumpur", "2026-10-01T01:00:00.000Z"],
    ["2026-10-01", "Asia/Kuala_Lumpur", "2026-09-30T16:00:00.000Z"],
    ["2026-10-01T09:00:00.5", "UTC", "2026-10-01T09:00:00.500Z"],
    ["1790816400000", "Asia/Kuala_Lumpur", "2026-10-01T01:00:00.000Z"],
    [1_790_816_400_000, "Asia/Kuala_Lumpur", "2026-10-01T01:00:00.000Z"],
    [0, "UTC", "1970-01-01T00:00:00.000Z"],
    // The hour that New York has twice is the first; the one that it skips is an hour later.
    ["2026-11-01T01:30", "America/New_York", "2026-11-01T05:30:00.000Z"],
    ["2026-03-08T02:30", "America/New_York", "2026-03-08T07:30:00.000Z"],
    // Midnight that a zone skipped is the first instant of the day.
    ["2018-11-04", "America/Sao_Paulo", "2018-11-04T03:00:00.000Z"],
  ])("%p in %s is %s", async (sent, zone, expected) => {
    const { at, ms }: { at?: string; ms?: number } = Object(await read(At, { at: sent, ms: sent }, zone));
    expect(ms).toBe(Temporal.Instant.from(expected).epochMilliseconds);
    expect(Temporal.Instant.from(at ?? "").toString({ smallestUnit: "millisecond" })).toBe(expected);
  });

  test("of a random local time is what Temporal makes of it in the company's zone", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 86_400_000, max: 4_000_000_000_000 }),
        fc.constantFrom(...ZONES),
        async (ms, zone) => {
          const local = Temporal.Instant.fromEpochMilliseconds(ms)
            .toZonedDateTimeISO("UTC")
            .toPlainDateTime();
          const expected = local.toZonedDateTime(zone).epochMilliseconds;
          expect(await read(At, { at: local.toString(), ms: local.toString() }, zone)).toEqual({
            at: Temporal.Instant.fromEpochMilliseconds(expected).toString({ smallestUnit: "millisecond" }),
            ms: expected,
          });
        },
      ),
    );
  });

  test.each([
    "",
    "tomorrow",
    "2026-13-01",
    "2026-02-30",
    "2026-10-01T25:00",
    "2026-10-01T09:00+25:00",
    "2026-10-01T09:00[Asia/Tokyo]",
    "1969-12-31T23:59:59Z",
    "-1",
    "1e12",
    "99999999999999999",
    -1,
    1.5,
    253_402_300_800_000,
    true,
    {},
  ])("is refused for %p, with both forms named", async (at) => {
    expect(await refusal(At, { at })).toEqual([{ path: "/at", message: `must be ${FORMS}` }]);
  });

  test("that the company's zone moves before 1970 is refused by its field", async () => {
    const schema = strict({ items: Type.Array(strict({ at: InstantText })) });
    const items = [{ at: "2026-01-01" }, { at: "1970-01-01" }];
    expect(await refusal(schema, { items }, "Asia/Tokyo")).toEqual([
      { path: "/items/1/at", message: `must be ${FORMS}` },
    ]);
  });

  test("is found in lists, in objects and beside null and other words, and nowhere else", async () => {
    const schema = strict({
      note: Type.String(),
      until: nullable(InstantText),
      when: Type.Union([Type.Literal("next_period"), InstantText]),
      inner: strict({ list: Type.Array(InstantText) }),
    });
    const sent = { note: "2026-10-01", until: null, when: "next_period", inner: { list: ["2026-10-01"] } };
    const expected = { ...sent, inner: { list: ["2026-09-30T15:00:00.000Z"] } };
    expect(await read(schema, sent, "Asia/Tokyo")).toEqual(expected);
    expect(hasInstants(strict({ note: Type.String() }))).toBe(false);
  });
});

describe("a range", () => {
  const List = strict(rangeFields);

  test.each([
    [{ month: "2026-10" }, "2026-09-30T16:00:00.000Z", "2026-10-31T16:00:00.000Z"],
    [{ relative: "today" }, "2026-11-19T16:00:00.000Z", "2026-11-20T16:00:00.000Z"],
    [{ relative: "yesterday" }, "2026-11-18T16:00:00.000Z", "2026-11-19T16:00:00.000Z"],
    [{ relative: "this_week" }, "2026-11-15T16:00:00.000Z", "2026-11-22T16:00:00.000Z"],
    [{ relative: "last_week" }, "2026-11-08T16:00:00.000Z", "2026-11-15T16:00:00.000Z"],
    [{ relative: "this_quarter" }, "2026-09-30T16:00:00.000Z", "2026-12-31T16:00:00.000Z"],
    [{ relative: "last_quarter" }, "2026-06-30T16:00:00.000Z", "2026-09-30T16:00:00.000Z"],
    [{ relative: "this_year" }, "2025-12-31T16:00:00.000Z", "2026-12-31T16:00:00.000Z"],
    [{ relative: "last_year" }, "2024-12-31T16:00:00.000Z", "2025-12-31T16:00:00.000Z"],
    [{ relative: "last_7d" }, "2026-11-13T04:00:00.000Z", "2026-11-20T04:00:00.001Z"],
  ])("%p is from %s to %s", async (sent, from, to) => {
    expect(await read(List, sent, "Asia/Kuala_Lumpur")).toEqual({ from, to });
  });

  test.each([
    [{ month: "2026-10", from: "2026-10-01" }, "/from", "month"],
    [{ relative: "today", to: "2026-10-01" }, "/to", "relative"],
    [{ relative: "today", month: "2026-10" }, "/relative", "month"],
  ])("is refused where it is given twice: %p", async (sent, path, chosen) => {
    expect(await refusal(List, sent)).toEqual([
      { path, message: `must be left out when ${chosen} is given` },
    ]);
  });

  test("of months is cut as bills were: by the zone in force then, whatever is set later", async () => {
    const zones = [
      { timezone: "Asia/Kuala_Lumpur", from: null },
      { timezone: "America/New_York", from: Temporal.Instant.from("2026-11-10T00:00:00Z") },
    ];
    const of = (sent: object) => readInstants(List, sent, NOW, async () => zones);
    const [october, december]: unknown[] = await Promise.all(
      ["2026-10", "2026-12"].map((month) => of({ month })),
    );
    expect(october).toEqual({ from: "2026-09-30T16:00:00.000Z", to: "2026-10-31T16:00:00.000Z" });
    expect(await of({ relative: "this_month" })).toEqual({
      from: "2026-10-31T16:00:00.000Z",
      to: "2026-11-30T16:00:00.000Z",
    });
    // December begins where November ended, and ends at New York's midnight.
    expect(december).toEqual({ from: "2026-11-30T16:00:00.000Z", to: "2027-01-01T05:00:00.000Z" });
    // Days are those of the zone that is set now.
    expect(await of({ relative: "today" })).toEqual({
      from: "2026-11-19T05:00:00.000Z",
      to: "2026-11-20T05:00:00.000Z",
    });
  });
});
