import { readFileSync } from "node:fs";
import type { Json } from "../../support/harness.ts";
import type { Finished } from "../../support/process.ts";

/** The counts of the summary line of `import usage`: accepted, duplicates, rejected. */
export function counts({ code, out, err }: Finished): number[] {
  const found = /^(\d+) accepted, (\d+) duplicates, (\d+) rejected in \d+\.\d s$/m.exec(out);
  if (code !== 0 || !found) throw new Error(`exit ${code}: ${out}${err}`);
  return found.slice(1).map(Number);
}

/** The rows of a file that were rejected, as they were written beside it. */
export function rejectsOf(file: string): Json[] {
  return readFileSync(`${file}.rejects.ndjson`, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}
