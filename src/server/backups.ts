import { Cron } from "croner";
import type { Deps } from "../app/deps.ts";
import type { Manifest } from "../backup/manifest.ts";
import { AppError } from "../core/errors.ts";
import { wrongWords } from "../core/exit_codes.ts";
import { findLastBeginning, saveSuccess } from "./job_runs/queries.ts";
import { TABLES } from "./schema.ts";

/** Names the lock, and the record of the last success. */
export const BACKUP = "backup";

/** A backup that is younger at the time of day of the next is the same day's, taken by another instance. */
const SAME_DAY_HOURS = 12;

/** What a backup did. */
export interface BackupResult {
  manifest: Manifest;
  /** Documents that the point lacks, since they are missing or damaged on disk. */
  damaged_documents: string[];
  /** Points that were removed, as `BACKUP_KEEP` says. */
  ended: number;
  /** What is wrong at the target. The point is there all the same. */
  problems: string[];
}

/**
 * Takes a backup and removes those that are not kept. What keeps the latter from being removed is among the problems. Errors: wrong words
 * without BACKUP_URL; conflict while another backup is being taken; throws what can't be read or written.
 */
export function backUp(deps: Deps, onProgress?: (text: string) => void): Promise<BackupResult> {
  return deps.background.track(backUpNow(deps, onProgress));
}

async function backUpNow(
  { store, usage, documents, config, clock, log, background }: Deps,
  onProgress: (text: string) => void = () => undefined,
): Promise<BackupResult> {
  const { backup_url, backup_keep, backup_recipient, data_dir, database_url } = config;
  if (backup_url === null) throw wrongWords("Say where backups go: set BACKUP_URL");
  const lock = await store.lock(BACKUP);
  if (lock === null) throw new AppError("conflict", "Cannot take a backup: another is being taken");
  try {
    // A start of the server waits for none of it.
    const [{ openTarget }, { takePoint }, { applyRetention }] = await Promise.all([
      import("../backup/open_target.ts"),
      import("../backup/take_point.ts"),
      import("../backup/retention.ts"),
    ]);
    const target = openTarget(backup_url);
    const isStopping = () => background.is_stopping;
    const now = clock.now();
    const place = { data_dir, database_url, target, recipient: backup_recipient };
    const tables = Object.values(TABLES);
    const taken = await takePoint({
      ...place,
      store,
      usage,
      documents,
      tables,
      now,
      isStopping,
      onProgress,
    });
    await store
      .tx((q) => saveSuccess(q, BACKUP, { began: now, ended: now }))
      .catch((error: unknown) =>
        log.warn({ err: error, job: BACKUP }, "the end of a backup is not recorded"),
      );
    onProgress("removing what is not kept");
    const problems = new Set(taken.problems);
    const ended = await applyRetention(target, backup_keep, clock.now()).catch((error: unknown) => {
      problems.add(error instanceof Error ? error.message : String(error));
      return { points: 0 };
    });
    return { ...taken, ended: ended.points, problems: [...problems] };
  } finally {
    await lock.release();
  }
}

/** Takes a backup each day at BACKUP_AT. Returns the switch that stops it. */
export function startBackups(deps: Deps): () => void {
  const { backup_at } = deps.config;
  if (backup_at === null) return () => undefined;
  const [hour, minute] = backup_at;
  const name = `${BACKUP} ${crypto.randomUUID()}`;
  const timer = new Cron(`0 ${minute} ${hour} * * *`, { utcOffset: 0, protect: true, name }, async () => {
    try {
      if (await isTakenElsewhere(deps)) return;
      const { manifest, damaged_documents: damaged, problems } = await backUp(deps);
      deps.log.info({ point: manifest.instant, events: manifest.events }, "took a backup");
      if (problems.length > 0) deps.log.error({ problems }, "the place of the backups is not in order");
      if (damaged.length > 0) deps.log.error({ damaged }, "documents are damaged, and not in the backup");
    } catch (error) {
      deps.log.error({ err: error }, "the backup failed");
    }
  });
  return () => timer.stop();
}

/** Whether another instance takes today's backup, or has taken it. */
async function isTakenElsewhere({ instances, store, clock }: Deps): Promise<boolean> {
  if (instances.url === null) return false;
  const lock = await store.lock(BACKUP);
  if (lock === null) return true;
  try {
    const last = await findLastBeginning(store.read, BACKUP);
    return last !== null && clock.now().since(last).total("hours") < SAME_DAY_HOURS;
  } finally {
    await lock.release();
  }
}
