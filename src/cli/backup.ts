import { Type } from "@sinclair/typebox";
import { openTarget } from "../backup/open_target.ts";
import { describeRanges, listRanges } from "../backup/log/ranges.ts";
import { listPoints, readPoint } from "../backup/points.ts";
import { readConfig } from "../core/config.ts";
import { wrongWords } from "../core/exit_codes.ts";
import { PROGRAM } from "../core/program_files.ts";
import { Nothing, strict } from "../core/schema.ts";
import { backUp } from "../server/backups.ts";
import { action } from "../server/operator/action.ts";
import { verifyBackup } from "./backup_verify.ts";
import { type Command, optional, printTable } from "./command.ts";
import { perform } from "./perform.ts";

export const takeBackupAction = action({
  name: "take_backup",
  input: Nothing,
  output: strict({
    text: Type.String(),
    damaged_documents: Type.Array(Type.String()),
    problems: Type.Array(Type.String()),
  }),
  async run(deps, _, report) {
    const began_ms = performance.now();
    const taken = await backUp(deps, (text) => report.progress(null, text));
    const { manifest, damaged_documents, ended, problems } = taken;
    const { instant, counts, events, documents } = manifest;
    const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
    const seconds = ((performance.now() - began_ms) / 1_000).toFixed(1);
    const removed = ended === 0 ? "" : `; ${ended} older removed`;
    const text = `Took ${instant}: ${rows} rows, ${events} events, ${documents.length} documents in ${seconds} s${removed}`;
    return { text, damaged_documents, problems };
  },
});

export const backup: Command = {
  name: "backup",
  summary: "Take a backup, list those there are, or verify one",
  help: `Usage: ${PROGRAM} backup [list | verify [POINT]] [OPTIONS]

  backup         takes a backup to BACKUP_URL and removes those that BACKUP_KEEP does not keep. Works beside a running
                 server, which then does it; nothing waits meanwhile
  backup list    lists the backups
  backup verify  restores a backup (the latest) into a scratch folder below DATA_DIR, compares rows, usage and sums with
                 what was backed up, proves bills and reads documents. It reports what differs, and how long the restore
                 took; exit 1 on any difference. It needs no server, and none need stop

list and verify:
  --from URL       where the backups are (BACKUP_URL)

verify:
  --identity FILE  the age secret key of an encrypted backup
  --bills N        bills that are proved (200)
  --seed N         draws the same bills and documents again`,
  operands: 2,
  remote: true,
  options: {
    from: { type: "string" },
    identity: { type: "string" },
    bills: { type: "string" },
    seed: { type: "string" },
  },
  async run(words) {
    const [verb, point] = words.positionals;
    if (verb === "verify") return verifyBackup(words, point);
    if (verb === "list" && point === undefined) return list(optional(words, "from"));
    if (verb !== undefined) throw wrongWords("Say `backup`, `backup list` or `backup verify`");
    const {
      text,
      damaged_documents: damaged,
      problems,
    } = await perform(words, takeBackupAction, {}, "Backup");
    console.log(text);
    if (damaged.length > 0)
      throw new Error(
        `The backup lacks ${damaged.length} documents that are missing or damaged: ${damaged[0]}`,
      );
    if (problems.length > 0)
      throw new Error(`The backup is there, but its place is not in order: ${problems.join("; ")}`);
  },
};

async function list(from: string | undefined): Promise<void> {
  const backup_url = from ?? readConfig(process.env).backup_url;
  if (backup_url === null) throw wrongWords("Say where backups are: --from URL, or BACKUP_URL");
  const target = openTarget(backup_url);
  const rows: Record<string, string | number>[] = [];
  const unreadable: string[] = [];
  for (const point of await listPoints(target)) {
    const manifest = await readPoint(target, point).catch((error: unknown) => {
      unreadable.push(error instanceof Error ? error.message : String(error));
    });
    if (!manifest) continue;
    const { counts, events, documents, dialect, program, rows: object } = manifest;
    rows.push({
      backup: point,
      rows: Object.values(counts).reduce((sum, count) => sum + count, 0),
      events,
      documents: documents.length,
      database: dialect,
      program,
      encrypted: object.recipient === null ? "no" : "yes",
    });
  }
  if (rows.length === 0) console.log(`There are no backups at ${target.url}`);
  else printTable(rows, ["backup", "rows", "events", "documents", "database", "program", "encrypted"]);
  const ranges = await listRanges(target);
  if (ranges.length > 0) console.log(`By the log any instant can be restored of: ${describeRanges(ranges)}`);
  if (unreadable.length > 0) throw new Error(unreadable.join("; "));
}
