import { wrongWords } from "../core/exit_codes.ts";
import { PROGRAM } from "../core/program_files.ts";
import { verifyBackup } from "./backup_verify.ts";
import type { Command } from "./command.ts";

export const backup: Command = {
  name: "backup",
  summary: "Verify a point of a backup",
  help: `Usage: ${PROGRAM} backup verify [POINT] [OPTIONS]

verify restores a point (the latest) into a scratch folder below DATA_DIR, compares rows, usage and sums with what was
backed up, proves bills and reads documents. It reports what differs, and how long the restore took; exit 1 on any
difference. It needs no server, and none need stop.

  --from URL       where the backups are (BACKUP_URL)
  --identity FILE  the age secret key of an encrypted backup
  --bills N        bills that are proved (200)
  --seed N         draws the same bills and documents again`,
  operands: 2,
  options: {
    from: { type: "string" },
    identity: { type: "string" },
    bills: { type: "string" },
    seed: { type: "string" },
  },
  async run(words) {
    const [verb, point] = words.positionals;
    if (verb !== "verify") throw wrongWords("Say `backup verify`");
    await verifyBackup(words, point);
  },
};
