import { parseArgs } from "node:util";
import { ExitError, exitCodeOf, wrongWords } from "../../src/core/exit_codes.ts";

const HELP = `Usage: bun run chaos [--rounds N] [--seed N] [--store sqlite|postgres]

Kills a real server with SIGKILL in the middle of its work, starts it again, and checks that nothing that was answered
is lost or done twice, that no debit is sent twice, and that every bill follows from the stored events. Each round
draws its works and the moment of the kill by its seed.

  --rounds N  how many (100)
  --seed N    the first round's seed, each round after it one more (1)
  --store S   the database, sqlite or postgres: a server of its own is started (sqlite)
  --help      this text

A round that fails prints its seed and leaves its folder in TMPDIR. Exit code: 0 all holds, 1 something does not,
2 wrong words.`;

function whole(text: string, name: string, least: number): string {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least) return text;
  throw wrongWords(`--${name} must be a whole number from ${least} on, not ${text}`);
}

function readWords() {
  const text = { type: "string" } as const;
  const options = { rounds: text, seed: text, store: text, help: { type: "boolean" } } as const;
  try {
    const { rounds = "100", seed = "1", store = "sqlite", help = false } = parseArgs({ options }).values;
    if (store !== "sqlite" && store !== "postgres")
      throw wrongWords(`--store must be sqlite or postgres, not ${store}`);
    return { rounds: whole(rounds, "rounds", 1), seed: whole(seed, "seed", 0), store, help };
  } catch (error) {
    throw error instanceof ExitError ? error : wrongWords(error instanceof Error ? error.message : "");
  }
}

async function main(): Promise<number> {
  const { rounds, seed, store, help } = readWords();
  if (help) {
    console.log(HELP);
    return 0;
  }
  // The rounds are a test, which has the builders of the other tests.
  const child = Bun.spawn(["bun", "test", "--timeout", "86400000", "./test/chaos/chaos.test.ts"], {
    env: { ...process.env, TEST_STORE: store, CHAOS_ROUNDS: rounds, CHAOS_SEED: seed },
    stdout: "inherit",
    stderr: "inherit",
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
  return (await child.exited) === 0 ? 0 : 1;
}

try {
  process.exit(await main());
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(exitCodeOf(error));
}
