import { readFileSync } from "node:fs";
import { openPoint, identityIn, type Point } from "../backup/restore/point.ts";
import { readPlace } from "../backup/restore/place.ts";
import { restorePoint, type Restored } from "../backup/restore/restore.ts";
import { openPointAt } from "../backup/log/point_at.ts";
import { readErasedIds, readErasedPeople } from "../backup/erased_ids.ts";
import { openTarget } from "../backup/open_target.ts";
import { readConfig } from "../core/config.ts";
import { wrongWords } from "../core/exit_codes.ts";
import { PROGRAM } from "../core/program_files.ts";
import { offerDataDir } from "../core/unpack.ts";
import { restoreNeeds } from "../server/restore_needs.ts";
import { type Arguments, type Command, optional, wholeNumber } from "./command.ts";
import { openProgress } from "./progress.ts";

export const restore: Command = {
  name: "restore",
  summary: "Restore a point of a backup into an empty place",
  help: `Usage: ${PROGRAM} restore POINT --to FOLDER [--to postgres://… [--to https://…]] [--until INSTANT] [OPTIONS]

POINT is an instant as \`backup list\` shows it, or latest. FOLDER becomes a data directory and must be empty. With a
postgres:// address, records go into that empty database in place of SQLite in the folder; either comes from either.
With an address of ClickHouse beside it (https://user:pw@host:8443/db), usage goes into that empty database, in as many
lanes as USAGE_LANES says, and is compared there with the backup: events by month, sums by hour, and bills.

Every object is checked before it is used, and a server refuses a folder whose restore was cut off. Debits wait after
a restore: those that were sent after the point are unknown. Compare with the bank, then say \`collections resume\`.

  --until INSTANT  what was committed up to that instant, such as 2026-11-23T14:30:00Z, by the log that BACKUP_LOG
                   ships. \`backup list\` says from when to when there is one; \`latest\` takes the point that it needs
  --bills N        with ClickHouse: bills that are rated anew (200); with more than there are, all
  --from URL       where the backups are (BACKUP_URL)
  --identity FILE  the age secret key of an encrypted backup, as age-keygen writes it`,
  operands: 1,
  options: {
    to: { type: "string", multiple: true },
    until: { type: "string" },
    bills: { type: "string" },
    from: { type: "string" },
    identity: { type: "string" },
  },
  async run(words) {
    const [instant] = words.positionals;
    if (instant === undefined) throw wrongWords("Say which point: an instant of `backup list`, or latest");
    const { to = [] } = words.values;
    const place = readPlace(Array.isArray(to) ? to.map(String) : []);
    const bills = wholeNumber(words, "bills");
    if (bills !== undefined && place.usage_url === null)
      throw wrongWords("--bills is for usage in ClickHouse; elsewhere `backup verify` proves bills");
    const config = readConfig({ LOG_LEVEL: "warn", ...process.env });
    offerDataDir(config.data_dir);
    const url = optional(words, "from") ?? config.backup_url;
    if (url === null) throw wrongWords("Say where the backups are: --from URL, or BACKUP_URL");
    const target = openTarget(url);
    const identity = identityOf(words) ?? config.backup_identity;
    const until = untilOf(words);
    const point: Point & { instant?: string } =
      until === null
        ? await openPoint(target, instant, identity)
        : await openPointAt(target, instant, until, { identity, onMissing: reportMissing });
    const log = point.instant === undefined ? "" : `, with its log up to ${point.instant},`;
    console.log(`Restoring the point of ${point.manifest.instant}${log} into ${place.data_dir}`);
    const progress = openProgress("");
    try {
      const needs = restoreNeeds(config, Temporal.Now.instant());
      const restored = await restorePoint(point, place, {
        ...needs,
        ...(bills !== undefined && { bills }),
        erased: await Array.fromAsync(readErasedIds(target)),
        erased_people: await Array.fromAsync(readErasedPeople(target)),
        onProgress: (text) => progress.line(text),
      });
      console.log(describe(restored));
    } finally {
      progress.end();
    }
    const database = place.database_url === null ? "" : ", DATABASE_URL to that database";
    const usage = place.usage_url === null ? "" : ", USAGE_URL to that of usage";
    console.log(`Start the server with DATA_DIR=${place.data_dir}${database}${usage}.`);
    console.log("Debits are held: compare them with the bank, then say `collections resume`.");
  },
};

/** Errors: wrong words. */
function untilOf(words: Arguments): Temporal.Instant | null {
  const text = optional(words, "until");
  if (text === undefined) return null;
  try {
    return Temporal.Instant.from(text);
  } catch {
    throw wrongWords("--until takes an instant with its offset, such as 2026-11-23T14:30:00Z");
  }
}

function reportMissing(documents: readonly string[]): void {
  if (documents.length > 0)
    console.log(
      `The backup lacks ${documents.length} documents that were missing or damaged: ${documents[0]}`,
    );
}

/** The secret key of `--identity`, if it is given. Errors: throws where the file has none. */
export function identityOf(words: Arguments): string | null {
  const path = optional(words, "identity");
  return path === undefined ? null : identityIn(readFileSync(path, "utf8"), path);
}

function describe({ rows, events, documents, duration_ms, proof }: Restored): string {
  const seconds = (duration_ms / 1_000).toFixed(1);
  const restored = `Restored in ${seconds} s: ${rows} rows, ${events} events, ${documents} documents`;
  if (proof === undefined) return restored;
  return `${restored}\nProved in ClickHouse: events by company and month, ${proof.hours} sums by hour, ${proof.bills} bills`;
}
