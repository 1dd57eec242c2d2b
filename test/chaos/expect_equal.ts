import { deepStrictEqual } from "node:assert";

/** Errors: throws one that says what is not as it must be, and what it is. */
export function expectEqual(actual: unknown, expected: unknown, what: string): void {
  try {
    deepStrictEqual(actual, expected);
  } catch {
    throw new Error(`${what}: ${JSON.stringify(actual)}, and must be ${JSON.stringify(expected)}`);
  }
}
