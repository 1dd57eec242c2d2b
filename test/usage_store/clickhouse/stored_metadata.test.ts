import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { canonicalJson } from "../../../src/usage_store/metadata.ts";
import {
  readMetadata,
  storedMetadata,
  storedScalar,
  storedText,
} from "../../../src/usage_store/clickhouse/append/stored_metadata.ts";
import { propertyCases } from "../../support/properties.ts";

const text = fc.oneof(
  fc.constantFrom("", "#", "##", "#1", "{", "[1]", '"', "\\", '#"', "null", "true", "-1e+21", '{"a":1}'),
  fc.string({ unit: "grapheme" }),
);
const { object } = fc.letrec<{ value: unknown; object: Record<string, unknown> }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    text,
    fc.constantFrom(0, -0.5, 1e21, 1e-7, 12345678901234567000, 123456789012345680000, true, false, null),
    fc.array(tie("value"), { maxLength: 3 }),
    tie("object"),
  ),
  object: fc.dictionary(text, tie("value"), { maxKeys: 4 }),
}));

const scalarsOf = (value: unknown): unknown[] =>
  typeof value === "object" && value !== null ? Object.values(value).flatMap(scalarsOf) : [value];

test("the stored form of metadata is JSON of strings alone, and gives the canonical text back", () => {
  fc.assert(
    fc.property(object, (metadata) => {
      const json = canonicalJson(metadata);
      const stored = storedMetadata(json);
      expect(readMetadata(stored)).toBe(json);
      const scalars = scalarsOf(JSON.parse(json));
      expect(scalarsOf(JSON.parse(stored))).toEqual(
        scalars.map((value) =>
          typeof value === "string" ? storedText(value) : storedScalar(JSON.stringify(value)),
        ),
      );
    }),
    propertyCases(300),
  );
  expect([storedMetadata(null), readMetadata("")]).toEqual(["", null]);
});

test("no two scalars have one stored form", () => {
  fc.assert(
    fc.property(
      text,
      fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean()),
      (string, other) => {
        expect(storedText(string)).not.toBe(storedScalar(JSON.stringify(other)));
        expect(storedText(string)).not.toMatch(/^$|^[{[]/);
      },
    ),
    propertyCases(300),
  );
});
