import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { shaped } from "../shape.ts";
import { hardware, machine } from "../table.ts";
import type { Finding } from "./finding.ts";

const FOLDER = join(import.meta.dir, "../results");

/** What the last runs of one size found on a machine. */
const Results = Type.Object({
  hardware: Type.String(),
  machine: Type.String(),
  events: Type.Integer(),
  findings: Type.Array(
    Type.Object({
      what: Type.String(),
      measured: Type.String(),
      peer: Type.String(),
      ratio: Type.String(),
      goal: Type.String(),
      holds: Type.String(),
      value_ms: Type.Union([Type.Number(), Type.Null()]),
      measured_at: Type.String(),
    }),
  ),
});
type Results = Static<typeof Results>;

const fileOf = (events: number) => join(FOLDER, `usage-${events}.json`);

/** What this machine was found to do with so many events; undefined when it was not measured. */
export function readResults(events: number): Results | undefined {
  const file = fileOf(events);
  if (!existsSync(file)) return undefined;
  const read: unknown = JSON.parse(readFileSync(file, "utf8"));
  const results = shaped(Results, read, file);
  return results.hardware === hardware() ? results : undefined;
}

/** Stores findings for later runs, in place of older ones of the same name. Returns the file's name. */
export function writeResults(events: number, findings: readonly Finding[]): string {
  const measured_at = Temporal.Now.instant().toString({ smallestUnit: "second" });
  const names = new Set(findings.map(({ what }) => what));
  const older = readResults(events)?.findings.filter(({ what }) => !names.has(what)) ?? [];
  const results: Results = {
    hardware: hardware(),
    machine: machine(),
    events,
    findings: [...older, ...findings.map((one) => ({ ...one, measured_at }))],
  };
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(fileOf(events), `${JSON.stringify(results, null, 2)}\n`);
  return fileOf(events);
}
