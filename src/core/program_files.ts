import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** Where the executable's own files are: a folder inside of it that Bun's file functions read. */
const INSIDE = "/$bunfs/root";
const SOURCES = join(import.meta.dir, "..");

/** How people call the program, as help texts write it. */
export const PROGRAM = Bun.isStandaloneExecutable ? "meterhouse" : "bun src/main.ts";

/** A file or folder of the repository that is needed at run time: beside the sources, or inside of the executable. */
export function programFile(path: `data/${string}`): string {
  return Bun.isStandaloneExecutable ? join(INSIDE, path) : join(SOURCES, "..", path);
}

/** What `new Worker` starts: a file of src/ by its path there. The executable has those whose names end so. Decision 0193. */
export function workerUrl(path: `${string}_worker.ts`): URL {
  return pathToFileURL(join(Bun.isStandaloneExecutable ? INSIDE : SOURCES, path));
}
