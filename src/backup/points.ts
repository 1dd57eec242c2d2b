import { instantOf, type Manifest, manifestName, readManifest } from "./manifest.ts";
import { readText, type Target } from "./target.ts";

/** The instants of all points, ascending. Errors: those of the target. */
export async function listPoints(target: Pick<Target, "list">): Promise<string[]> {
  const listed = await target.list("points/");
  return listed.flatMap(({ name }) => instantOf(name) ?? []).toSorted();
}

/** The manifest of a point. Errors: throws where it is not there, or can't be read. */
export async function readPoint(target: Pick<Target, "read">, instant: string): Promise<Manifest> {
  const name = manifestName(instant);
  return readManifest(await readText(target, name), name);
}

/**
 * The newest manifest that can be read; undefined where there is none. `onUnreadable` is told of each newer one. Errors:
 * those of listing.
 */
export async function newestPoint(
  target: Pick<Target, "list" | "read">,
  onUnreadable: (problem: string) => void = () => undefined,
): Promise<Manifest | undefined> {
  for (const instant of (await listPoints(target)).toReversed()) {
    try {
      return await readPoint(target, instant);
    } catch (error) {
      onUnreadable(error instanceof Error ? error.message : String(error));
    }
  }
  return undefined;
}
