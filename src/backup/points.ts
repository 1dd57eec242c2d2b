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

/** The manifest of the newest point; undefined where there is none. Errors: throws where it can't be read. */
export async function newestPoint(target: Pick<Target, "list" | "read">): Promise<Manifest | undefined> {
  const instant = (await listPoints(target)).at(-1);
  return instant === undefined ? undefined : readPoint(target, instant);
}
