import { Value } from "@sinclair/typebox/value";
import { LIMITS } from "../../core/limits.ts";
import type { ErrorDetail } from "../../core/errors.ts";
import { invalidInput } from "../../core/validate.ts";
import { FormStructure } from "./model.ts";

/** What is wrong with a form. `path` is a JSON pointer into its config, "" the config itself. */
export type Problem = ErrorDetail;

/**
 * Checks a config, whatever it is, and names what is wrong with it: its shape, names that repeat, and options
 * that are missing, repeat or stand where there is no select. One that is too large is not looked into.
 * Source: interface, FormConfig. Decision 0070.
 */
export function checkForm(config: unknown): Problem[] {
  if (config === undefined) return [{ path: "", message: "is required" }];
  const bytes = Buffer.byteLength(JSON.stringify(config));
  if (bytes > LIMITS.form_bytes) {
    return [{ path: "", message: `must be at most ${LIMITS.form_bytes} bytes of JSON, it has ${bytes}` }];
  }
  return [...brokenShape(config), ...brokenFields(fieldsOf(config))].slice(0, LIMITS.form_problems);
}

/** A problem in one line: its place in the config, and what is wrong there. */
export function problemText({ path, message }: Problem): string {
  return `${path === "" ? "/config" : path}: ${message}`;
}

function brokenShape(config: unknown): Problem[] {
  if (Value.Check(FormStructure, config)) return [];
  return invalidInput(Value.Errors(FormStructure, config)).details ?? [];
}

/** A field as far as it can be read: of what has another shape, nothing is known. */
interface FieldFacts {
  name: unknown;
  type: unknown;
  options: unknown;
}

function fieldsOf(config: unknown): FieldFacts[] {
  const fields = ownValue(config, "fields");
  if (!Array.isArray(fields)) return [];
  return fields.map((field: unknown) => ({
    name: ownValue(field, "name"),
    type: ownValue(field, "type"),
    options: ownValue(field, "options"),
  }));
}

/** Never what an object has from its prototype. */
function ownValue(object: unknown, key: string): unknown {
  if (typeof object !== "object" || object === null) return undefined;
  return Object.getOwnPropertyDescriptor(object, key)?.value;
}

function brokenFields(fields: readonly FieldFacts[]): Problem[] {
  const names = repeats(fields.map(({ name }) => name)).map(({ again, first }) => ({
    path: `/fields/${again}/name`,
    message: `must be unique: /fields/${first} has the same name`,
  }));
  return [...names, ...fields.flatMap((field, index) => brokenOptions(field, `/fields/${index}/options`))];
}

function brokenOptions({ type, options }: FieldFacts, path: string): Problem[] {
  if (type !== "select") {
    const is_refused = options !== undefined && typeof type === "string";
    return is_refused ? [{ path, message: "only a select has options: leave them out" }] : [];
  }
  if (options === undefined) return [{ path, message: "a select needs at least one option" }];
  if (!Array.isArray(options)) return []; // its shape is named already
  if (options.length === 0) return [{ path, message: "a select needs at least one option" }];
  return repeats(options).map(({ again, first }) => ({
    path: `${path}/${again}`,
    message: `must be unique: option ${first} is the same`,
  }));
}

/** The texts that stood before, and where they stood first. */
function repeats(values: readonly unknown[]): { again: number; first: number }[] {
  const places = new Map<string, number>();
  return values.flatMap((value, again) => {
    if (typeof value !== "string") return [];
    const first = places.get(value);
    if (first !== undefined) return [{ again, first }];
    places.set(value, again);
    return [];
  });
}
