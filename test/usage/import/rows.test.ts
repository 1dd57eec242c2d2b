import { expect, test } from "bun:test";
import { readMoment } from "../../../src/usage/import/rows.ts";

test.each([
  ["1700000000000", 1_700_000_000_000],
  ["1700000000000.0", 1_700_000_000_000],
  ["2023-11-16 18:17:03.9799600", 1_700_158_623_979],
  ["2023-11-16T18:17:03Z", 1_700_158_623_000],
  ["2023-11-16T18:17:03+08:00", 1_700_129_823_000],
  ["2023-11-16", 1_700_092_800_000],
  ["2023-02-30", undefined],
  ["16/11/2023", undefined],
  ["-5", undefined],
  ["", undefined],
])("readMoment(%p) → %p", (text, moment) => {
  expect(readMoment(text)).toBe(moment);
});
