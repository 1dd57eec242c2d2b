import { expect, test } from "bun:test";
import { externalIdOf } from "../../src/usage/subscription_key.ts";

test("a composite key holds the external id, colons and all, of its own company only", () => {
  expect(externalIdOf(7, "7:a:b")).toBe("a:b");
  for (const key of ["8:a", "77:a", "a", "", ":a"]) expect(externalIdOf(7, key)).toBeUndefined();
});
