import type { BackupObject, Manifest } from "../manifest.ts";
import { fetchObject } from "../objects.ts";
import { listPoints, readPoint } from "../points.ts";
import type { Target } from "../target.ts";

/** A point of a backup that can be read. */
export interface Point {
  readonly manifest: Manifest;
  /** Fetches an object into a new file and checks its bytes. Errors: throws what is damaged or missing, by its name. */
  fetch(object: BackupObject, path: string): Promise<void>;
  /** What is restored in its place, once it is made in an empty folder: the point with its log up to an instant. */
  prepare?(scratch: string): Promise<Point>;
  /** Whether the events of its segments go beyond its cut. */
  readonly is_cut?: boolean;
}

/**
 * Opens a point by its instant, or the `latest`. `identity`: the age secret key of encrypted objects. Errors: throws where
 * there is no such point, or its manifest can't be read.
 */
export async function openPoint(target: Target, instant: string, identity: string | null): Promise<Point> {
  const instants = await listPoints(target);
  const wanted = instant === "latest" ? instants.at(-1) : instants.find((one) => one === instant);
  if (wanted === undefined) {
    const known = instants.length === 0 ? "there is none" : `the last are ${instants.slice(-5).join(", ")}`;
    throw new Error(`There is no point ${instant} at ${target.url}: ${known}`);
  }
  return {
    manifest: await readPoint(target, wanted),
    async fetch(object, path) {
      try {
        await fetchObject(target, object, path, identity);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        throw reason.includes(object.name)
          ? error
          : new Error(`${object.name} at ${target.url} is damaged: ${reason}`, { cause: error });
      }
    },
  };
}

/** The secret key in the text of an age identity file. Errors: throws where there is none. */
export function identityIn(text: string, path: string): string {
  const identity = text
    .split("\n")
    .map((line) => line.trim())
    .find((line) => line.startsWith("AGE-SECRET-KEY-"));
  if (identity === undefined) throw new Error(`Cannot use ${path}: it holds no age secret key`);
  return identity;
}
