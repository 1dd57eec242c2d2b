import banks from "../../../data/seed/banks.json" with { type: "json" };
import type { SchemeBank } from "./connector.ts";

type Bank = Omit<SchemeBank, "status">;

const B2C: readonly Bank[] = banks.B2C.map((bank) => ({ ...bank, type: "B2C" }));
const B2B1: readonly Bank[] = banks.B2B1.map((bank) => ({ ...bank, type: "B2B1" }));
const TEST: readonly Bank[] = banks.test.flatMap((bank) => [
  { ...bank, type: "B2C" as const },
  { ...bank, type: "B2B1" as const },
]);

/** The scheme's banks, once for each kind of account, with or without the test banks. */
export function schemeBanks({ with_tests }: { with_tests: boolean }): readonly Bank[] {
  return [...B2C, ...B2B1, ...(with_tests ? TEST : [])];
}
