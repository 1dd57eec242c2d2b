import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { isolated, selfContained } from "../../../src/console/text/isolated.ts";
import { propertyCases } from "../../support/properties.ts";

// Texts of others that set a direction (Unicode Standard Annex 9).

test("a name among words cannot turn them", () => {
  expect(isolated("Acme, Sdn. Bhd. 株式会社")).toBe("Acme, Sdn. Bhd. 株式会社");
  expect(isolated("\u202Elive")).toBe("\u2068live\u2069");
  expect(isolated("a\u2069\u202Eb")).toBe("\u2068ab\u2069");
  expect(isolated("שלום")).toBe("\u2068שלום\u2069");
});

test.each([
  ["Acme", "Acme"],
  ["\u202Elive", "\u202Elive\u202C"],
  ["\u2069\u202Elive", "\u202Elive\u202C"],
  ["a\u202Cb\u2069c", "abc"],
  ["\u2068\u202Ea\u2069b", "\u2068\u202Ea\u202C\u2069b"],
  ["\u202E\u2067a\u202Cb", "\u202E\u2067ab\u2069\u202C"],
  ["\u2068Acme\u2069 is deleted", "\u2068Acme\u2069 is deleted"],
])("%j is drawn as %j", (text, drawn) => {
  expect(selfContained(text)).toBe(drawn);
});

const MARKS = /[\u202A-\u202E\u2066-\u2069]/g;
const EMBEDDED = /[\u202A\u202B\u202D\u202E][^\u202A-\u202E\u2066-\u2069]*\u202C/g;
const ISOLATED = /[\u2066-\u2068][^\u202A-\u202E\u2066-\u2069]*\u2069/g;

/** What is left when all pairs of a begin and its end are taken away, from the innermost on. */
function unpaired(text: string): string {
  const less = text.replaceAll(EMBEDDED, "").replaceAll(ISOLATED, "");
  return less === text ? text.replaceAll(/[^\u202A-\u202E\u2066-\u2069]/g, "") : unpaired(less);
}

test("every text that is drawn ends what it begins and nothing else, and keeps its letters", () => {
  const marks = "\u202A\u202B\u202C\u202D\u202E\u2066\u2067\u2068\u2069".split("");
  const texts = fc.array(fc.constantFrom("a", "א", " ", ...marks), { maxLength: 40 });
  fc.assert(
    fc.property(texts, (parts) => {
      const text = parts.join("");
      const drawn = selfContained(text);
      expect(unpaired(drawn)).toBe("");
      expect(drawn.replaceAll(MARKS, "")).toBe(text.replaceAll(MARKS, ""));
      expect(selfContained(drawn)).toBe(drawn);
    }),
    propertyCases(500),
  );
});
