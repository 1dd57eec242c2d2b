import { readFileSync } from "node:fs";
import { totalmem } from "node:os";

/** The text of a file; undefined where there is none. */
export type ReadText = (path: string) => string | undefined;

const readText: ReadText = (path) => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
};

const CGROUPS = "/sys/fs/cgroup";

/**
 * The memory that this process may take, in bytes: the least limit of its control groups (version 2, else 1) and those
 * they are in, or all of the machine's where there is none.
 */
export function availableMemory(read: ReadText = readText, machine = totalmem()): number {
  let least = machine;
  for (const line of (read("/proc/self/cgroup") ?? "").split("\n")) {
    const [, controllers = "", path = ""] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    const is_v2 = line.startsWith("0::");
    if (!is_v2 && !controllers.split(",").includes("memory")) continue;
    const [root, file] = is_v2 ? [CGROUPS, "memory.max"] : [`${CGROUPS}/memory`, "memory.limit_in_bytes"];
    // In a container the path is the host's, and the group's own files are at the root.
    for (const folder of withParents(path)) {
      const limit = Number(read(`${root}${folder}/${file}`)?.trim() || Number.NaN);
      if (limit > 0) least = Math.min(least, limit);
    }
  }
  return least;
}

/** `/a/b` → `/a/b`, `/a` and the root, which is empty. */
function withParents(path: string): string[] {
  const names = path.split("/").filter((name) => name !== "");
  return [...names.map((_, i) => `/${names.slice(0, names.length - i).join("/")}`), ""];
}

const MEGABYTE = 1_000_000;

/** What usage queries may take where nothing is configured: a quarter of the process's memory, at most 2 GB. */
export function defaultUsageMemory(available = availableMemory()): string {
  return `${Math.max(32, Math.min(Math.floor(available / 4 / MEGABYTE), 2_000))}MB`;
}
