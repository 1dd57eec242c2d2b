import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { openTarget } from "../../src/backup/open_target.ts";
import { listPoints, readPoint } from "../../src/backup/points.ts";
import { readConfig } from "../../src/core/config.ts";
import { findHeldDebits } from "../../src/emandate/holds/service.ts";
import { call } from "../../src/app/operation.ts";
import { commandContext } from "../../src/cli/command.ts";
import { openDeps } from "../../src/server/open_deps.ts";
import { type CommandFolder, makeCommandFolder, run } from "../support/process.ts";
import { proveEveryBill } from "../support/prove_bills.ts";
import { until } from "../support/webhook_receiver.ts";
import { expectEqual } from "./expect_equal.ts";
import type { Work } from "./work.ts";
import type { World } from "./world.ts";

const BILLS = ["--bills", "20"];

/** Takes a backup, once one that was killed is known to be over. */
export async function takeBackup(world: World): Promise<void> {
  await until(async () => {
    const { code, err } = await run(["backup"], world.env);
    if (code !== 0 && !err.includes("another is being taken")) throw new Error(`backup: ${err}`);
    return code === 0;
  }, "a backup after a kill");
}

/** Each point that is listed is whole: its manifest can be read, and what it names is there. */
async function checkPoints(world: World): Promise<void> {
  const target = openTarget(world.env.BACKUP_URL ?? "");
  const names = new Set<string>();
  for (const folder of ["rows/", "usage/", "documents/"]) {
    for (const { name } of await target.list(folder)) names.add(name);
  }
  for (const instant of await listPoints(target)) {
    const { rows, segments, documents } = await readPoint(target, instant);
    const missing = [rows, ...segments, ...documents].filter(({ name }) => !names.has(name));
    expectEqual(missing, [], `what the point of ${instant} names and is not there`);
  }
}

/** Errors: throws where the latest point is not what was backed up, or leaves a scratch folder. */
async function verifyLatest(world: World): Promise<void> {
  const { code, out, err } = await run(["backup", "verify", ...BILLS], world.env);
  expectEqual([code, code === 0 ? "" : out + err], [0, ""], "the verification of the latest point");
  expectEqual(existsSync(join(world.place.data_dir, "verifying")), false, "a scratch folder afterwards");
}

async function settleBackup(world: World): Promise<void> {
  await checkPoints(world);
  await takeBackup(world);
  await checkPoints(world);
  await verifyLatest(world);
}

/** A backup that the server takes, which is killed in it. */
const backupBeside: Work = {
  name: "backup beside a server",
  lasts_ms: 1_500,
  async run(world) {
    const child = Bun.spawn(["bun", "src/main.ts", "backup"], {
      env: world.env,
      stdout: "ignore",
      stderr: "ignore",
    });
    await child.exited;
  },
  settle: settleBackup,
};

/** A backup by a command that is killed. */
const backup: Work = {
  name: "backup",
  lasts_ms: 1_500,
  command: async () => ["backup"],
  settle: settleBackup,
};

const verification: Work = {
  name: "backup verify",
  lasts_ms: 2_000,
  prepare: takeBackup,
  command: async () => ["backup", "verify", ...BILLS],
  settle: verifyLatest,
};

export const placeWords = ({ data_dir, env }: CommandFolder) => [
  "restore",
  "latest",
  "--to",
  data_dir,
  ...(env.DATABASE_URL === undefined ? [] : ["--to", env.DATABASE_URL]),
];

/** A restore that is killed: a server refuses what is there, and a restore into another place is whole. */
const restore: Work = (() => {
  const places = new WeakMap<World, CommandFolder>();
  return {
    name: "restore",
    lasts_ms: 2_000,
    prepare: takeBackup,
    async command(world) {
      const place = await makeCommandFolder();
      places.set(world, place);
      return placeWords(place);
    },
    async settle(world) {
      const half = places.get(world);
      if (!half) return;
      let place = half;
      const again = await run(placeWords(half), world.env);
      if (again.code !== 0) {
        expectEqual(
          /was cut off there|is not empty/.test(again.err),
          true,
          `a clear refusal, not ${again.err}`,
        );
        if (/was cut off there/.test(again.err)) {
          const opened = await openDeps(readConfig({ ...half.env, LOG_LEVEL: "fatal" })).catch((error) =>
            error instanceof Error ? error.message : "",
          );
          const refusal = typeof opened === "string" ? opened : "it was opened";
          expectEqual(/was cut off/.test(refusal), true, "the refusal to serve half a restore");
          half.remove();
          place = await makeCommandFolder();
          const { code, err } = await run(placeWords(place), world.env);
          expectEqual([code, code === 0 ? "" : err], [0, ""], "a restore after a kill");
        }
      }
      await checkRestored(world, place);
      rmSync(place.data_dir, { recursive: true, force: true });
    },
  };
})();

/** Usage is that of the point, bills are proved, and debits are held. */
async function checkRestored(world: World, place: CommandFolder): Promise<void> {
  const target = openTarget(world.env.BACKUP_URL ?? "");
  const latest = (await listPoints(target)).at(-1) ?? "";
  const manifest = await readPoint(target, latest);
  const deps = await openDeps(readConfig({ ...place.env, LOG_LEVEL: "fatal", USAGE_QUERY_TIMEOUT: "120" }));
  try {
    const digests = await deps.usage.monthDigests(manifest.last_seq, 120_000);
    expectEqual(digests, manifest.digests, "usage by company and month");
    expectEqual((await proveEveryBill(deps)).unproved, [], "restored bills that are not proved");
    const held = await call(commandContext(deps, 1), findHeldDebits, {});
    expectEqual(held === null || held === undefined, false, "whether debits are held");
  } finally {
    await deps.close();
  }
}

export const BACKUP_WORKS: readonly Work[] = [backupBeside, backup, verification, restore];
