import { describe, expect, test } from "bun:test";
import { NO_TRACES, scrubbing, scrubValue, tracesOf } from "../../src/people/traces.ts";

const ADA = {
  name: "Ada  Lovelace",
  email: "ada@example.com",
  phone: "+60123456789",
  numbers: ["900131145678", null],
};

function scrubbed(text: string): string {
  const scrub = scrubbing(tracesOf(ADA));
  if (scrub === null) throw new Error("There is nothing to look for");
  return scrub(text);
}

describe("what a text says of a person is replaced", () => {
  for (const [text, after] of [
    ["Ada Lovelace called", "[erased] called"],
    ["ADA\nLOVELACE, ada@EXAMPLE.com", "[erased], [erased]"],
    ["IC 900131-14-5678", "IC [erased]"],
    ["900131145678", "[erased]"],
    ["+60 12-345 6789 or 012-3456789 or 60123456789", "[erased] or [erased] or [erased]"],
  ] as const) {
    test(text, () => expect(scrubbed(text)).toBe(after));
  }
});

describe("and nothing else", () => {
  for (const text of [
    "Ada",
    "Lovelace, Ada",
    "Adam Lovelace",
    "Ada Lovelaces",
    "xada@example.com",
    "ada@example.community",
    "99001311456780",
    "1012345678900",
  ]) {
    test(text, () => expect(scrubbed(text)).toBe(text));
  }
});

test("a name of one word and a number of few digits are not looked for", () => {
  expect(tracesOf({ name: "Gold", phone: "999", numbers: ["123456"] })).toEqual(NO_TRACES);
  expect(scrubbing(NO_TRACES)).toBeNull();
});

test("texts in JSON are replaced, however deep; a value that says nothing stays the same one", () => {
  const scrub = scrubbing(tracesOf(ADA));
  if (scrub === null) throw new Error("There is nothing to look for");
  const value = { a: [1, null, { "ada@example.com": "by Ada Lovelace" }], b: true };
  expect(scrubValue(value, scrub)).toEqual({ a: [1, null, { "[erased]": "by [erased]" }], b: true });
  const other = { a: [1, "Bob"], b: { c: null } };
  expect(scrubValue(other, scrub)).toBe(other);
});
