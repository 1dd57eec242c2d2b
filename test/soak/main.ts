import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { Cleanup } from "../../bench/cleanup.ts";
import { ExitError, exitCodeOf, wrongWords } from "../../src/core/exit_codes.ts";
import { broken, printReport } from "../support/report.ts";
import { soak } from "./soak.ts";

const BATCH = 100;
const REPORT = "./data/var/soak.md";

const HELP = `Usage: bun run soak [--hours N | --minutes N] [--rate N] [--report FILE]

Loads a real server with usage events in batches of ${BATCH}, with searches, sums, webhooks and a billing run every ten
minutes beside it, and then compares what was accepted with what is stored.

  --hours N      how long (2)
  --minutes N    the same in minutes
  --rate N       events a second (5000)
  --report FILE  where the report goes, beside standard output (${REPORT})
  --help         this text

36 million events, those of two hours, take about 3 GB in TMPDIR. Progress goes to standard error.
Exit code: 0 all holds, 1 something does not, 2 wrong words.`;

function amount(text: string, name: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw wrongWords(`--${name} must be a number above zero, not ${text}`);
}

function readWords() {
  const text = { type: "string" } as const;
  const options = {
    hours: text,
    minutes: text,
    rate: text,
    report: text,
    help: { type: "boolean" },
  } as const;
  try {
    const { values } = parseArgs({ options });
    const { hours, minutes, rate = "5000", report = REPORT, help = false } = values;
    if (hours !== undefined && minutes !== undefined) throw wrongWords("Give --hours or --minutes, not both");
    const seconds =
      minutes === undefined ? amount(hours ?? "2", "hours") * 3_600 : amount(minutes, "minutes") * 60;
    return { seconds, rate: amount(rate, "rate"), report, help };
  } catch (error) {
    throw error instanceof ExitError ? error : wrongWords(error instanceof Error ? error.message : "");
  }
}

async function main(): Promise<number> {
  const { seconds, rate, report, help } = readWords();
  if (help) {
    console.log(HELP);
    return 0;
  }
  const cleanup = new Cleanup();
  cleanup.onSignals();
  const started = performance.now();
  const progress = (line: string) => {
    const minutes = ((performance.now() - started) / 60_000).toFixed(1).padStart(5);
    process.stderr.write(`${minutes} min  ${line}\n`);
  };
  try {
    const findings = await soak(cleanup, { seconds, rate, batch: BATCH, billing_every_s: 600, progress });
    const title = `Soak: ${rate.toLocaleString("en-US")} events a second for ${Math.round(seconds / 60)} minutes`;
    const text = printReport(title, findings);
    mkdirSync(dirname(report), { recursive: true });
    writeFileSync(report, text);
    console.log(text);
    progress(`written to ${report}`);
    return broken(findings).length === 0 ? 0 : 1;
  } finally {
    await cleanup.run();
  }
}

try {
  process.exit(await main());
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(exitCodeOf(error));
}
