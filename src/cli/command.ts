import type { ParseArgsConfig } from "node:util";
import type { Context } from "../app/context.ts";
import type { Deps } from "../app/deps.ts";
import { readConfig } from "../core/config.ts";
import { wrongWords } from "../core/exit_codes.ts";
import { randomPassword } from "../core/passwords.ts";
import { type OpenOptions, openDeps } from "../server/open_deps.ts";

/** The words of a command line, read. */
export interface Arguments {
  values: Record<string, string | boolean | (string | boolean)[] | undefined>;
  positionals: string[];
}

/** One command of the command line. It fails by throwing: the message is printed as one line, exitCodeOf has the exit code. */
export interface Command {
  name: string;
  /** One line for the list of commands. */
  summary: string;
  /** The whole help text. */
  help: string;
  options: NonNullable<ParseArgsConfig["options"]>;
  /** Whether it talks to a running server, and to one elsewhere with `--server`. */
  remote?: boolean;
  /** How many words it takes beside its options. */
  operands: number;
  /** What the first of them may be, where that is known. */
  choices?: readonly string[];
  run(words: Arguments): Promise<void>;
}

/** Opens the stores by the environment, runs the work, closes them again. */
export async function withDeps<T>(work: (deps: Deps) => Promise<T>, options: OpenOptions = {}): Promise<T> {
  const deps = await openDeps(readConfig({ LOG_LEVEL: "warn", ...process.env }), options);
  try {
    return await work(deps);
  } finally {
    await deps.close();
  }
}

/** The context in which the command line calls operations, for one company. */
export function commandContext(deps: Deps, company_id: number): Context {
  const request_id = Bun.randomUUIDv7();
  return deps.openContext({
    actor: { kind: "system", company_id },
    origin: "cli",
    request_id,
    address: null,
  });
}

/** The context of the operator, for all companies. */
export function operatorContext(deps: Deps): Context {
  const request_id = Bun.randomUUIDv7();
  return deps.openContext({ actor: { kind: "operator" }, origin: "cli", request_id, address: null });
}

/** The given password, or a random one, which `notice` then shows. */
export function passwordOf(words: Arguments, name: string): { password: string; notice: string } {
  const option = optional(words, name);
  if (option !== undefined) return { password: option, notice: "" };
  const password = randomPassword();
  return { password, notice: `, password ${password}` };
}

/** An option that must be there. */
export function required({ values }: Arguments, name: string): string {
  const value = optional({ values }, name);
  if (value === undefined) throw wrongWords(`--${name} is required`);
  return value;
}

export function optional({ values }: Pick<Arguments, "values">, name: string): string | undefined {
  const value = values[name];
  return typeof value === "string" ? value : undefined;
}

/** An option that is a record's id. */
export function requiredId(words: Arguments, name: string): number {
  const text = required(words, name);
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw wrongWords(`--${name} must be a positive whole number`);
}

/** An option that is a whole number of at most six digits, if it is given. Errors: wrong words. */
export function wholeNumber(words: Arguments, name: string): number | undefined {
  const text = optional(words, name);
  if (text === undefined) return undefined;
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw wrongWords(`--${name} must be a whole number`);
}

/** Prints rows as an aligned table under their column names. */
export function printTable(rows: Record<string, string | number | null>[], columns: string[]): void {
  const cells = [columns, ...rows.map((row) => columns.map((column) => String(row[column] ?? "")))];
  const widths = columns.map((_, i) => Math.max(...cells.map((line) => line[i]?.length ?? 0)));
  for (const line of cells)
    console.log(
      line
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join("  ")
        .trimEnd(),
    );
}
