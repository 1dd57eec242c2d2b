/** Set by `bun run check --all`: what takes long is tried at its full size. */
export const TESTS_ALL = process.env.TEST_ALL === "1";

/** Where random histories begin: those of FUZZ_SEED, in a check those of its commit. */
export const FUZZ_SEED = Number(process.env.FUZZ_SEED ?? process.env.FAST_CHECK_SEED ?? 1);

/** How many random histories a test lives through: few in every check, `all` with TEST_ALL, FUZZ_ROUNDS when it is set. */
export function fuzzRounds(few: number, all = 5 * few): number {
  return Number(process.env.FUZZ_ROUNDS ?? (TESTS_ALL ? all : few));
}

/** How often a test kills a process: rarely in every check, `all` with TEST_ALL, KILL_ROUNDS when it is set. */
export function killRounds(few: number, all = 5 * few): number {
  return Number(process.env.KILL_ROUNDS ?? (TESTS_ALL ? all : few));
}

/** Set in the environment to try every property of money, periods and bills on so many cases. */
const ASKED = process.env.PROPERTY_CASES;

/**
 * How many cases a property tries: few in every check, `all` (five times as many) with TEST_ALL, PROPERTY_CASES when it
 * is set. docs/style.md.
 */
export function propertyCases(few: number, all = 5 * few): { numRuns: number } {
  if (ASKED === undefined) return { numRuns: TESTS_ALL ? all : few };
  const numRuns = Number(ASKED);
  if (!Number.isSafeInteger(numRuns) || numRuns < 1) {
    throw new Error(`PROPERTY_CASES must be a whole number above zero, not ${ASKED}`);
  }
  return { numRuns };
}

/** Whether this one of a list has its turn, one in `of`: others with each turn. */
export const hasTurn = (index: number, turn: number, of: number): boolean =>
  (index + Math.abs(turn)) % of === 0;

/** Which rows `isChosen` takes, as FAST_CHECK_SEED says. */
const TURN = Number(process.env.FAST_CHECK_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** Whether a table's row has its turn, one in `of` rows: others with each FAST_CHECK_SEED, every row with TEST_ALL. */
export function isChosen(index: number, of: number): boolean {
  return TESTS_ALL || hasTurn(index, TURN, of);
}
