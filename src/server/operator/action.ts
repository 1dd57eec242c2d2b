import type { Static, TObject, TSchema } from "@sinclair/typebox";
import type { Deps } from "../../app/deps.ts";
import type { OpenOptions } from "../open_deps.ts";

/** Where long work says how far it is. */
export interface Report {
  /** `share` of the whole, from 0 to 1, null where it is not known; `text` counts what is done: `300 rows`. */
  progress(share: number | null, text: string): void;
  /** Prints a line. */
  line(text: string): void;
}

/**
 * Work that the operator asks for at the command line: a running server does it, through its control socket or below
 * `/operator`; where none runs, the command does it itself. Decision 0190.
 */
export interface Action<I extends TObject = TObject, O extends TSchema = TSchema> {
  /** Verb and noun, `add_company`. */
  readonly name: string;
  readonly input: I;
  readonly output: O;
  /** What a command opens that does it itself; by default both stores. */
  readonly opens?: OpenOptions;
  /** A method, so that the list of all actions can hold actions of any input. */
  run(deps: Deps, input: Static<I>, report: Report): Promise<Static<O>>;
}

/** Defines an action: `action({ name, input, output, run })`. */
export function action<I extends TObject, O extends TSchema>(definition: Action<I, O>): Action<I, O> {
  return definition;
}

/** Actions by name, each loaded at its first use. */
export type Actions = Readonly<Record<string, () => Promise<Action>>>;
