import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { Finding } from "./finding.ts";
import { hardware, machine } from "./table.ts";

/** Where results go that are saved nowhere else; git ignores it. */
const FOLDER = join(import.meta.dir, "results");

const Text = Type.String();
const Figures = Type.Array(
  Type.Object({ name: Text, unit: Text, values: Type.Array(Type.Number(), { minItems: 1 }) }),
);

const Saved = Type.Object({
  what: Text,
  measured: Text,
  latency: Text,
  peer: Text,
  ratio: Text,
  goal: Text,
  holds: Text,
  figures: Figures,
  peers: Figures,
  measured_at: Text,
});

/** What runs of one bench at one size found on a machine. */
const Results = Type.Object({
  /** `main`, `usage`, `billing`, `collections` */
  bench: Text,
  /** Events, or mandates. */
  size: Type.Integer(),
  hardware: Text,
  machine: Text,
  findings: Type.Array(Saved),
});
export type Results = Static<typeof Results>;

/** Reads a file of results. Errors: throws for a file that is missing or holds something else. */
export function readResults(file: string): Results {
  if (!existsSync(file)) throw new Error(`Cannot read ${file}: there is no such file`);
  const read = parse(readFileSync(file, "utf8"), file);
  if (Value.Check(Results, read)) return read;
  const { path, message } = Value.Errors(Results, read).First() ?? { path: "", message: "unknown shape" };
  throw new Error(
    `Cannot read ${file}: it holds no results of a run of the bench (${path || "/"}: ${message})`,
  );
}

function parse(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`Cannot read ${file}: it holds no results of a run of the bench (it is no JSON)`);
  }
}

/** Where the results of a bench at a size go by default. */
export const defaultFile = (bench: string, size: number) => join(FOLDER, `${bench}-${size}.json`);

/** What this machine was last found to do; undefined when it was not measured. */
export function lastResults(bench: string, size: number): Results | undefined {
  const file = defaultFile(bench, size);
  if (!existsSync(file)) return undefined;
  const results = readResults(file);
  return results.hardware === hardware() ? results : undefined;
}

/**
 * The results of a run, and the file that takes them, if any. What earlier runs of the same bench, size and hardware
 * left in the file stays, unless it is measured again.
 */
export class ResultsFile {
  readonly #file: string | undefined;
  #results: Results;
  #saved: Results;

  /** Errors: throws when the file exists and holds something else. */
  constructor(file: string | undefined, bench: string, size: number) {
    this.#file = file;
    this.#results = { bench, size, hardware: hardware(), machine: machine(), findings: [] };
    this.#saved = this.#results;
    if (file === undefined || !existsSync(file)) return;
    const older = readResults(file);
    const is_same = older.bench === bench && older.size === size && older.hardware === hardware();
    if (is_same) this.#saved = { ...this.#results, findings: older.findings };
  }

  /** What this run found so far. */
  get results(): Results {
    return this.#results;
  }

  /** Writes findings at once, so that a long run that is stopped loses none. Those without figures are left out. */
  save(findings: readonly Finding[]): void {
    const now = Temporal.Now.instant();
    this.#results = add(this.#results, findings, now);
    this.#saved = add(this.#saved, findings, now);
    if (this.#file === undefined) return;
    mkdirSync(dirname(this.#file), { recursive: true });
    writeFileSync(this.#file, print(this.#saved));
  }
}

/** Results with findings in place of older ones of the same name. */
function add(results: Results, findings: readonly Finding[], now: Temporal.Instant): Results {
  const measured_at = now.toString({ smallestUnit: "second" });
  const added = findings
    .map((one) => ({ ...one, figures: copied(one.figures), peers: copied(one.peers), measured_at }))
    .filter(({ figures }) => figures.length > 0);
  const names = new Set(added.map(({ what }) => what));
  return { ...results, findings: [...results.findings.filter(({ what }) => !names.has(what)), ...added] };
}

const copied = (figures: Finding["figures"]) =>
  figures
    .filter(({ values }) => values.length > 0 && values.every((value) => Number.isFinite(value)))
    .map((one) => ({ ...one, values: one.values.map((value) => Number(value.toPrecision(5))) }));

/** Results as a file holds them: formatted as the repository's JSON is, with the rounds of a figure in one line. */
function print(results: Results): string {
  const text = JSON.stringify(results, null, 2);
  return `${text.replaceAll(/\[\s+([-\d.e+,\s]+?)\s+\]/g, (_, list: string) => `[${list.replaceAll(/\s+/g, " ")}]`)}\n`;
}
