import { chunks } from "../core/chunk.ts";
import { instant } from "../core/time.ts";
import { LIMITS } from "./limits.ts";
import { manifestName, objectsOf } from "./manifest.ts";
import { listPoints, readPoint } from "./points.ts";
import { listRecords } from "./log/record.ts";
import type { Target } from "./target.ts";

/** How many days, weeks and months have their newest point kept. */
export interface Keep {
  days: number;
  weeks: number;
  months: number;
}

/** The folders of what points name. Anything else at the target is not ours. */
const FOLDERS = ["rows/", "usage/", "documents/"];
/** What is shipped of the log since a point, in a folder of its own. */
const LOGS = "log/";
/** What no manifest names goes once it is so old: a younger one may be that of a backup under way elsewhere. */
const ORPHANED_MS = 86_400_000;

/**
 * The points that are kept: the newest of each of the last days, weeks and months that have one, in UTC. The newest of
 * all is always kept.
 */
export function pointsToKeep(instants: readonly string[], { days, weeks, months }: Keep): Set<string> {
  const ordered = instants.toSorted().toReversed();
  const kept = new Set(ordered.slice(0, 1));
  for (const [spanOf, spans] of [
    [(day: Temporal.PlainDate) => day.toString(), days],
    [(day: Temporal.PlainDate) => `${day.yearOfWeek} ${day.weekOfYear}`, weeks],
    [(day: Temporal.PlainDate) => day.toPlainYearMonth().toString(), months],
  ] as const) {
    const seen = new Set<string>();
    for (const point of ordered) {
      const span = spanOf(instant(point).toZonedDateTimeISO("UTC").toPlainDate());
      if (!seen.has(span) && seen.size < spans) kept.add(point);
      seen.add(span);
    }
  }
  return kept;
}

/**
 * The points whose log is kept: any instant after `since` can be restored while there is a log of it. A point's log ends
 * where that of the next one begins.
 */
async function logsToKeep(
  target: Pick<Target, "list">,
  instants: readonly string[],
  since: Temporal.Instant,
): Promise<Set<string>> {
  const kept = new Set<string>();
  for (const [i, point] of instants.entries()) {
    const next = instants[i + 1];
    if (next !== undefined && Temporal.Instant.compare(instant(next), since) <= 0) continue;
    if ((await listRecords(target, point)).length > 0) kept.add(point);
  }
  return kept;
}

/**
 * Removes the points that are not kept, and then what no manifest names any more. Every manifest is read in between, so
 * nothing that one names is ever removed, however often it is interrupted. With a log, every point of the last `days` is
 * kept, and its log. Errors: throws, and removes no object, where
 * a manifest can't be read.
 */
export async function applyRetention(
  target: Target,
  keep: Keep,
  now: Temporal.Instant,
): Promise<{ points: number; objects: number }> {
  const instants = await listPoints(target);
  const logged = await logsToKeep(target, instants, now.subtract({ hours: 24 * keep.days }));
  const kept = pointsToKeep(instants, keep).union(logged);
  const ended = instants.filter((point) => !kept.has(point));
  for (const point of ended) await target.remove(manifestName(point));
  // Listed before the manifests are read: what is written meanwhile is not in it.
  const listed = (await Promise.all(FOLDERS.map((folder) => target.list(folder)))).flat();
  const named = new Set<string>();
  for (const point of await listPoints(target)) {
    for (const { name } of objectsOf(await readPoint(target, point))) named.add(name);
  }
  const orphans = listed.filter(
    ({ name, modified_ms }) => !named.has(name) && modified_ms < now.epochMilliseconds - ORPHANED_MS,
  );
  for (const { name } of orphans) await target.remove(name);
  const present = new Set(instants);
  // The log of a point that was taken meanwhile may have begun meanwhile.
  const isEnded = (point: string) =>
    !logged.has(point) && (present.has(point) || point < (instants.at(-1) ?? ""));
  const logs = (await target.list(LOGS)).filter(({ name }) => isEnded(name.split("/")[1] ?? ""));
  for (const batch of chunks(logs, LIMITS.fetch_at_once))
    await Promise.all(batch.map(({ name }) => target.remove(name)));
  return { points: ended.length, objects: orphans.length };
}
