import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { canonicalJson, parseMetadata } from "../../src/usage_store/metadata.ts";
import { propertyCases } from "../support/properties.ts";

/** A JSON value as its sender wrote it: the members of objects in the order of the text. */
type Written = { members: [key: string, value: Written][] } | { items: Written[] } | { scalar: unknown };

const KEYS = ["", "a", "B", "b", "ab", "a b", "é", "𝄞", "\uffff", '"', "\\", "\n", "toJSON", "length"];
/** Those that JavaScript keeps elsewhere than where they were set, and their neighbours. */
const ODD_KEYS = [
  "__proto__",
  "constructor",
  "0",
  "1",
  "2",
  "10",
  "01",
  "-1",
  "1.5",
  "4294967294",
  "4294967295",
  "!",
  "/",
];

const key = fc.oneof(fc.constantFrom(...KEYS, ...ODD_KEYS), fc.string({ unit: "grapheme" }));
const scalar = fc.oneof(
  fc.constantFrom(null, true, false, 0, -0, 1e21, 1e-7, 0.1, -1.5, Number.MAX_VALUE),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.string({ unit: "grapheme" }),
);
const { object } = fc.letrec<{ value: Written; object: { members: [string, Written][] } }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.record({ scalar }),
    fc.record({ items: fc.array(tie("value"), { maxLength: 3 }) }),
    tie("object"),
  ),
  object: fc.record({
    members: fc.uniqueArray(fc.tuple(key, tie("value")), { selector: ([name]) => name, maxLength: 6 }),
  }),
}));

/** The text as it was sent. */
function sent(value: Written): string {
  if ("scalar" in value) return Object.is(value.scalar, -0) ? "-0" : JSON.stringify(value.scalar);
  if ("items" in value) return `[ ${value.items.map(sent).join(" , ")} ]`;
  return `{ ${value.members.map(([name, member]) => `${JSON.stringify(name)} : ${sent(member)}`).join(" , ")} }`;
}

/** The text as it must be stored. */
function canonical(value: Written): string {
  if ("scalar" in value) return JSON.stringify(value.scalar);
  if ("items" in value) return `[${value.items.map(canonical).join(",")}]`;
  const members = value.members.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(",")}}`;
}

test("metadata is stored the one way, whatever the order in which it was written", () => {
  fc.assert(
    fc.property(object, (value) => {
      const text: string = canonicalJson(JSON.parse(sent(value)));
      expect(text).toBe(canonical(value));
      expect(canonicalJson(parseMetadata(text))).toBe(canonicalJson(JSON.parse(sent(value))));
    }),
    propertyCases(500),
  );
});

test.each([
  ['{"b":1,"a":2}', '{"a":2,"b":1}'],
  ['{"a":1,"1":2}', '{"1":2,"a":1}'],
  ['{"10":1,"9":2}', '{"10":1,"9":2}'],
  ['{"9":1,"!":2}', '{"!":2,"9":1}'],
  [
    '{"z":{"10":1,"9":2},"a":[{"b":1,"a":{"2":0,"10":0}}]}',
    '{"a":[{"a":{"10":0,"2":0},"b":1}],"z":{"10":1,"9":2}}',
  ],
  ['{"b":1,"__proto__":{"y":1,"x":2}}', '{"__proto__":{"x":2,"y":1},"b":1}'],
  ['{"__proto__":1,"a":2}', '{"__proto__":1,"a":2}'],
  ['{"toJSON":{"b":1,"a":2},"a":1}', '{"a":1,"toJSON":{"a":2,"b":1}}'],
  ['{"a":-0,"b":1E2,"c":1e-999}', '{"a":0,"b":100,"c":0}'],
])("%s is stored as %s", (text, stored) => {
  const written: string = canonicalJson(JSON.parse(text));
  expect(written).toBe(stored);
  expect(Object.getPrototypeOf(JSON.parse(text))).toBe(Object.prototype);
});

test.each(['{"a":1e999}', '{"b":1,"a":-1e400}', '{"a":[{"9":0,"1":1e400}]}'])(
  "%s holds a number that is no double, and is refused",
  (text) => expect(() => canonicalJson(JSON.parse(text))).toThrow("a number that no double can hold"),
);

test.each([
  ["in order", "a", "b"],
  ["out of order", "b", "a"],
  ["as numbers", "10", "9"],
])("a hundred levels are stored and one more is refused, keys %s", (_, first, second) => {
  const nested = (levels: number) =>
    JSON.parse(`${`{"${first}":1,"${second}":`.repeat(levels)}1${"}".repeat(levels)}`);
  expect(parseMetadata(canonicalJson(nested(100)))).toEqual(nested(100));
  expect(() => canonicalJson(nested(101))).toThrow("nested over 100 deep");
});
