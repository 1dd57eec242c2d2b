import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Deps } from "../app/deps.ts";
import { openTarget } from "../backup/open_target.ts";
import { listPoints, readPoint } from "../backup/points.ts";
import { scratchOf } from "../backup/verify/report.ts";
import { noteVerification } from "./note_verification.ts";

/** How often it looks whether the service is about to end. */
const LOOK_MS = 200;

/** As `verifyBackup`; what it finds is recorded for all instances, also where it is bad. */
export async function verifyNewestBackup(deps: Deps): Promise<void> {
  try {
    await verifyBackup(deps);
  } finally {
    await noteVerification(deps.store, deps.config.data_dir).catch((error: unknown) =>
      deps.log.warn({ err: error }, "what verifying the backup found is not recorded yet"),
    );
  }
}

/**
 * Verifies the newest point, in a process of its own: it checks pages and proves bills while requests go on. Does nothing
 * without a point, nor where it is encrypted and BACKUP_IDENTITY is not set. Errors: throws what the report says is wrong.
 */
export async function verifyBackup({
  config,
  background,
  log,
}: Pick<Deps, "config" | "background" | "log">): Promise<void> {
  const { backup_url, backup_identity, data_dir } = config;
  if (backup_url === null) return;
  const target = openTarget(backup_url);
  const instant = (await listPoints(target)).at(-1);
  if (instant === undefined) return;
  const newest = await readPoint(target, instant);
  if (newest.rows.recipient !== null && backup_identity === null) {
    log.warn("the backup is encrypted and was not verified: say `backup verify --identity` where its key is");
    return;
  }
  const program = Bun.isStandaloneExecutable ? [] : [join(import.meta.dir, "../main.ts")];
  const child = Bun.spawn([process.execPath, ...program, "backup", "verify", newest.instant], {
    env: { ...process.env, BACKUP_URL: backup_url, DATA_DIR: data_dir },
    stdout: "pipe",
    stderr: "pipe",
  });
  const printed = Promise.all([child.stdout.text(), child.stderr.text()]);
  const timer = setInterval(() => background.is_stopping && child.kill("SIGKILL"), LOOK_MS);
  const exit_code = await child.exited.finally(() => clearInterval(timer));
  if (background.is_stopping) return rmSync(scratchOf(data_dir), { recursive: true, force: true });
  const [out, err] = await printed;
  if (exit_code !== 0) throw new Error(`${err.trim()}\n${out.trim()}`);
  log.info({ report: out.trim().split("\n") }, "backup verified");
}
