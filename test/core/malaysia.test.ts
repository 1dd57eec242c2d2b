import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { AppError } from "../../src/core/errors.ts";
import { ageOn, isMaskedIcNumber, maskIcNumber, readIcNumber, readPhone } from "../../src/core/malaysia.ts";
import { propertyCases } from "../support/properties.ts";

/** The message of the 422 that reading throws, or what it read. */
function outcome(read: (text: string, path: string) => string, text: string): string {
  try {
    return read(text, "/a/b");
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    expect([error.kind, error.details?.[0]?.path]).toEqual(["invalid", "/a/b"]);
    // Nobody's number ends up in an error that may be logged.
    if (text !== "") expect(error.message).not.toContain(text);
    return "refused";
  }
}

describe("IC numbers", () => {
  test.each([
    ["900131-14-5678", "900131145678"],
    ["900131145678", "900131145678"],
    ["900131-145678", "900131145678"],
    ["90013114-5678", "900131145678"],
    // 2000 was a leap year, 1900 was not.
    ["000229-14-5678", "000229145678"],
    ["960229-01-0000", "960229010000"],
    ["010101-99-9999", "010101999999"],
    ["900229-14-5678", "refused"],
    ["901332-14-5678", "refused"],
    ["900100-14-5678", "refused"],
    ["900132-14-5678", "refused"],
    ["900031-14-5678", "refused"],
    ["900431-14-5678", "refused"],
    ["90013-14-5678", "refused"],
    ["90013114567", "refused"],
    ["9001311456789", "refused"],
    ["900131--14-5678", "refused"],
    ["900131 14 5678", "refused"],
    ["-900131145678", "refused"],
    ["900131-14-5678\n", "refused"],
    ["９00131-14-5678", "refused"],
    ["", "refused"],
  ])("%p is read as %p", (text, read) => {
    expect(outcome(readIcNumber, text)).toBe(read);
  });

  test("of the hundred place codes, thirteen were never given out", () => {
    const codes = Array.from({ length: 100 }, (_, code) => String(code).padStart(2, "0"));
    const refused = codes.filter((code) => outcome(readIcNumber, `900131-${code}-5678`) === "refused");
    expect(refused).toEqual("00 17 18 19 20 69 73 80 81 94 95 96 97".split(" "));
  });

  test("every day of two centuries can be a day of birth, and is read back as it was written", () => {
    const some_day = fc
      .integer({ min: 0, max: 73_048 })
      .map((days) => Temporal.PlainDate.from("1900-01-01").add({ days }));
    fc.assert(
      fc.property(some_day, (day) => {
        const date = day.toString().replaceAll("-", "").slice(2);
        expect(outcome(readIcNumber, `${date}-14-5678`)).toBe(`${date}145678`);
      }),
      propertyCases(500),
    );
  });

  test("only the last four digits are shown", () => {
    expect(maskIcNumber("900131145678")).toBe("********5678");
    expect(
      ["********5678", "********", "********567x", "900131145678", "********5678901"].map(isMaskedIcNumber),
    ).toEqual([true, false, false, false, false]);
  });

  test.each([
    ["900131145678", "2026-01-30", 35],
    ["900131145678", "2026-01-31", 36],
    ["900131145678", "2026-02-01", 36],
    // Born today, and the day before: in this century.
    ["260121145678", "2026-01-21", 0],
    ["260120145678", "2026-01-21", 0],
    // Not yet: in the last one.
    ["260122145678", "2026-01-21", 99],
    ["080101145678", "2026-01-01", 18],
    ["080102145678", "2026-01-01", 17],
    // Who was born on a leap day is a year older from the first of March.
    ["080229145678", "2026-02-28", 17],
    ["080229145678", "2026-03-01", 18],
    ["000229145678", "2024-02-29", 24],
  ])("%s is aged on %s %i", (ic_number, day, age) => {
    expect(ageOn(ic_number, Temporal.PlainDate.from(day))).toBe(age);
  });
});

describe("phone numbers", () => {
  test.each([
    ["0123456789", "+60123456789"],
    ["012-345 6789", "+60123456789"],
    ["+60 12-345 6789", "+60123456789"],
    ["60123456789", "+60123456789"],
    ["011-1234 5678", "+601112345678"],
    ["03-7956 1234", "+60379561234"],
    ["+60379561234", "+60379561234"],
    ["082-123456", "+6082123456"],
    ["+1 415-555-0123", "+14155550123"],
    ["+6591234567", "+6591234567"],
    ["01234567", "refused"],
    ["+6012345", "refused"],
    ["012345678901", "refused"],
    ["0212345678", "refused"],
    ["+60212345678", "refused"],
    ["4165550123", "refused"],
    ["+0123456789", "refused"],
    ["+1234567890123456", "refused"],
    ["+60123456789x12", "refused"],
    ["(012) 3456789", "refused"],
    ["0123456789\n", "refused"],
    ["", "refused"],
    [" - ", "refused"],
  ])("%p is read as %p", (text, read) => {
    expect(outcome(readPhone, text)).toBe(read);
  });

  test("what was read is read again as it is", () => {
    const some_mobile = fc.stringMatching(/^(\+60|60|0)1[0-9]{8,9}$/);
    fc.assert(
      fc.property(some_mobile, (text) => {
        const read = outcome(readPhone, text);
        expect(read).toMatch(/^\+601\d{8,9}$/);
        expect(outcome(readPhone, read)).toBe(read);
      }),
      propertyCases(300),
    );
  });
});
