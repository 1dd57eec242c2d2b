import { existsSync } from "node:fs";
import { openTarget } from "../backup/open_target.ts";
import { openPoint } from "../backup/restore/point.ts";
import { describeReport, saveReport, scratchOf } from "../backup/verify/report.ts";
import { verifyPoint } from "../backup/verify/verify.ts";
import { readConfig } from "../core/config.ts";
import { wrongWords } from "../core/exit_codes.ts";
import { offerDataDir } from "../core/unpack.ts";
import { restoreNeeds } from "../server/restore_needs.ts";
import { type Arguments, optional, wholeNumber } from "./command.ts";
import { openProgress } from "./progress.ts";
import { identityOf } from "./restore.ts";

const BILLS = 200;
const SEEDS = 1_000_000;

/** `backup verify [POINT]`: prints the report. Errors: throws where anything differs. */
export async function verifyBackup(words: Arguments, instant = "latest"): Promise<void> {
  const config = readConfig({ LOG_LEVEL: "warn", ...process.env });
  offerDataDir(config.data_dir);
  const url = optional(words, "from") ?? config.backup_url;
  if (url === null) throw wrongWords("Say where the backups are: --from URL, or BACKUP_URL");
  const bills = wholeNumber(words, "bills") ?? BILLS;
  const seed = wholeNumber(words, "seed") ?? Math.floor(Math.random() * SEEDS);
  const point = await openPoint(openTarget(url), instant, identityOf(words) ?? config.backup_identity);
  const now = Temporal.Now.instant();
  const progress = openProgress(`Verifying the point of ${point.manifest.instant}`, { now: true });
  const report = await verifyPoint(point, {
    ...restoreNeeds(config, now),
    bills,
    seed,
    scratch: scratchOf(config.data_dir),
    onProgress: (text) => progress.line(text),
  }).finally(() => progress.end());
  console.log(describeReport(report));
  if (existsSync(config.data_dir)) saveReport(config.data_dir, now, report);
  if (report.problems.length > 0) throw new Error(`The point of ${report.point} is not what was backed up`);
}
