import { machine, printTable } from "../../bench/table.ts";

/** One thing that must hold. `holds` is null where the run is too short to tell. */
export interface Finding {
  what: string;
  measured: string;
  holds: boolean | null;
}

const WORDS = new Map<boolean | null, string>([
  [true, "yes"],
  [false, "**no**"],
  [null, "not judged"],
]);

/** The report of a run in Markdown, with machine and date. */
export function printReport(title: string, findings: readonly Finding[]): string {
  const lines = findings.map(({ what, measured, holds }) => [what, measured, WORDS.get(holds) ?? ""]);
  const date = Temporal.Now.instant().toString({ smallestUnit: "minute" });
  return `${title}\n\n${date}; ${machine()}\n\n${printTable([["Must hold", "Measured", "Holds"], ...lines])}\n`;
}

/** What does not hold. */
export function broken(findings: readonly Finding[]): Finding[] {
  return findings.filter(({ holds }) => holds === false);
}
