import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { isSame, merge, type Values } from "../../../src/console/ui/merge.ts";
import { propertyCases } from "../../support/properties.ts";

// What a form sends of a record that somebody else changed meanwhile.

test.each([
  ["one's own change goes onto theirs", { a: 1, b: 1 }, { a: 2, b: 1 }, { a: 1, b: 2 }, { a: 2, b: 2 }, []],
  ["the same change by both is none", { a: 1 }, { a: 2 }, { a: 2 }, { a: 2 }, []],
  ["both changed it: one's own, and it is said", { a: 1 }, { a: 2 }, { a: 3 }, { a: 2 }, ["/a"]],
  ["an emptied text is a change", { a: "x", b: 1 }, { a: "", b: 1 }, { a: "x", b: 2 }, { a: "", b: 2 }, []],
  ["nothing and an empty text are the same", { a: null }, { a: "" }, { a: "x" }, { a: "x" }, []],
  [
    "objects are merged field by field",
    { of: { a: false, b: false } },
    { of: { a: true, b: false } },
    { of: { a: false, b: true } },
    { of: { a: true, b: true } },
    [],
  ],
  ["inside of them, too", { of: { a: 1 } }, { of: { a: 2 } }, { of: { a: 3 } }, { of: { a: 2 } }, ["/of/a"]],
  ["lists are changed as a whole", { a: [1] }, { a: [1, 2] }, { a: [1, 3] }, { a: [1, 2] }, ["/a"]],
] as const)("%s", (_, base, mine, theirs, values, paths) => {
  const merged = merge(base, mine, theirs);
  expect(merged.values).toEqual(values);
  expect(merged.conflicts.map(({ path }) => path)).toEqual([...paths]);
});

test("loses nothing: each field is as whoever changed it left it", () => {
  const value = fc.oneof(
    fc.constantFrom(null, "", "x", "y", 1, true),
    fc.array(fc.constantFrom(1, 2), { maxLength: 2 }),
  );
  const record = fc.record({ a: value, b: value, c: value });
  fc.assert(
    fc.property(record, record, record, (base: Values, mine: Values, theirs: Values) => {
      const { values, conflicts } = merge(base, mine, theirs);
      for (const name of ["a", "b", "c"]) {
        const is_mine = !isSame(mine[name], base[name]);
        expect(isSame(values[name], is_mine ? mine[name] : theirs[name])).toBe(true);
        const is_conflict = is_mine && !isSame(theirs[name], base[name]) && !isSame(theirs[name], mine[name]);
        expect(conflicts.some(({ path }) => path === `/${name}`)).toBe(is_conflict);
      }
    }),
    propertyCases(200),
  );
});
