import { expect, test } from "bun:test";
import { largestFirst } from "../../../src/entitlements/grants/rules.ts";

test("quantities are ordered exactly, also those that one double stands for", () => {
  const ascending = [
    "-9007199254740993",
    "-9007199254740992",
    "-0.5",
    "0",
    "0.000001",
    "12",
    "9007199254740993.5",
  ];
  const [first = "", ...rest] = ascending;
  const mixed = [...rest, "9007199254740993", first, "12", "9007199254740992"];
  expect(mixed.toSorted(largestFirst)).toEqual([
    "9007199254740993.5",
    "9007199254740993",
    "9007199254740992",
    "12",
    "12",
    "0.000001",
    "0",
    "-0.5",
    "-9007199254740992",
    "-9007199254740993",
  ]);
});
