/** Set in the environment to try every property of money, periods and bills on so many cases. */
const ASKED = process.env.PROPERTY_CASES;

/** How many cases a property tries: few in every run, PROPERTY_CASES when it is set. docs/style.md. */
export function propertyCases(few: number): { numRuns: number } {
  if (ASKED === undefined) return { numRuns: few };
  const numRuns = Number(ASKED);
  if (!Number.isSafeInteger(numRuns) || numRuns < 1) {
    throw new Error(`PROPERTY_CASES must be a whole number above zero, not ${ASKED}`);
  }
  return { numRuns };
}
