import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Cleanup } from "../cleanup.ts";
import { type Ran, killProcess, measureProcess, runProcess, startProcess } from "../processes.ts";
import type { Place } from "./databases.ts";

/** More than there are: all. */
const ALL_BILLS = "999999";

/** How many events were restored, and what was proved of them. */
export interface Proved extends Ran {
  restored: number;
  bills: number;
  hours: number;
}

/** Takes a backup by the command line, where no server runs. */
export function backUp(cleanup: Cleanup, env: Record<string, string>, backups: string): Promise<Ran> {
  return measureProcess(cleanup, ["src/main.ts", "backup"], { ...env, BACKUP_URL: `file://${backups}` });
}

const restoreWords = ({ settings: { DATA_DIR, DATABASE_URL, USAGE_URL } }: Place, backups: string) => [
  "src/main.ts",
  "restore",
  "latest",
  "--from",
  `file://${backups}`,
  "--bills",
  ALL_BILLS,
  ...[DATA_DIR, DATABASE_URL, USAGE_URL].flatMap((to) => ["--to", to]),
];

/**
 * Kills a restore half-way through the events, and tries to use what is there. Errors: throws where a server starts on
 * it, or another restore goes on with it.
 */
export async function cutOff(cleanup: Cleanup, place: Place, backups: string, events: number): Promise<void> {
  const words = restoreWords(place, backups);
  await killProcess(cleanup, words, {}, (line) => {
    const loaded = /^usage: (\d+) of/.exec(line)?.[1];
    return line.startsWith("records:") || (loaded !== undefined && Number(loaded) >= events / 2);
  });
  const server = startProcess(cleanup, ["src/main.ts", "serve"], { ...place.settings, PORT: "0" });
  if (await hasWorked(server)) throw new Error("Cannot go on: a server uses what was cut off");
  if (await hasWorked(runProcess(cleanup, words, {})))
    throw new Error("Cannot go on: a restore into what was cut off went on");
}

async function hasWorked(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

/** Restores the last backup into an empty place, and proves all bills there. */
export async function move(cleanup: Cleanup, place: Place, backups: string): Promise<Proved> {
  const ran = await measureProcess(cleanup, restoreWords(place, backups), {});
  return { ...ran, ...countsIn(ran.printed) };
}

/** Restores the last backup into a folder, as one process uses it, and proves all bills there. */
export async function verifyBackup(cleanup: Cleanup, folder: string, backups: string): Promise<Proved> {
  const words = ["src/main.ts", "backup", "verify", "--bills", ALL_BILLS, "--from", `file://${backups}`];
  const ran = await measureProcess(cleanup, words, { DATA_DIR: folder });
  return { ...ran, ...countsIn(ran.printed) };
}

/** The counts that the end of a restore or of a verification says. Errors: throws where one is missing. */
function countsIn(printed: string): Pick<Proved, "restored" | "bills" | "hours"> {
  const end = printed.slice(printed.search(/^Restored in|^Point /m));
  const count = (name: string): number => {
    const found = new RegExp(`(\\d+) ${name}`).exec(end)?.[1];
    if (found === undefined) throw new Error(`Cannot go on: it says no ${name}: ${printed.trim()}`);
    return Number(found);
  };
  return { restored: count("events"), hours: count("sums by hour"), bills: count("bills") };
}

/** The bytes of all files below a folder. */
export function bytesBelow(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => statSync(join(folder, name)))
    .filter((state) => state.isFile())
    .reduce((sum, { size }) => sum + size, 0);
}
