import { expect, test } from "bun:test";
import { TEST_STORE } from "../support/harness.ts";
import { TESTS_ALL } from "../support/properties.ts";
import { broken, printReport } from "../support/report.ts";
import { chaosFindings, killInRounds } from "./rounds.ts";

/** A round of light work in every run; `bun run chaos` makes more of them. */
const ROUNDS = Number(process.env.CHAOS_ROUNDS ?? (TESTS_ALL ? 2 : 1));
const SEED = Number(process.env.CHAOS_SEED ?? process.env.FAST_CHECK_SEED ?? 1);
const IS_LONG = process.env.CHAOS_ROUNDS !== undefined;
/** Of these, few events at a time: `CHAOS_WORKS=erasure,ingest` chooses others. */
const LIGHT = ["ingest", "plan change", "idempotency keys", "collection"];

function works(): { works?: readonly string[] } {
  const asked = process.env.CHAOS_WORKS?.split(",");
  if (asked) return { works: asked };
  return IS_LONG ? {} : { works: LIGHT };
}

test(
  "whenever and in whatever a server is killed, nothing answered is lost or done twice, and every bill is proved",
  async () => {
    const result = await killInRounds({
      rounds: ROUNDS,
      seed: SEED,
      ...works(),
      progress: (line) => IS_LONG && console.error(line),
    });
    const findings = chaosFindings(result);
    const title = `Chaos: ${ROUNDS} rounds from seed ${SEED} on ${TEST_STORE}`;
    if (IS_LONG) console.log(printReport(title, findings));
    expect(result.rounds).toBe(ROUNDS);
    // How long a start takes beside other tests says nothing.
    expect(IS_LONG ? broken(findings) : []).toEqual([]);
    expect(result.kills).toBeGreaterThanOrEqual(ROUNDS);
  },
  ROUNDS * 120_000,
);
