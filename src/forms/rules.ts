import { Value } from "@sinclair/typebox/value";
import { SHARED_LIMITS } from "../core/limits.ts";
import { LIMITS } from "./limits.ts";
import { type ErrorDetail, pointerPart } from "../core/errors.ts";
import { Email } from "../core/schema.ts";
import { invalidInput } from "../core/validate.ts";
import { type Answers, FormStructure } from "./model.ts";

/** What is wrong with a form. `path` is a JSON pointer into its config, "" the config itself. */
export type Problem = ErrorDetail;

/**
 * Checks a config, whatever it is, and names what is wrong with it: its shape, names that repeat, and options
 * that are missing, repeat or stand where there is no select. One that is too large is not looked into.
 * Decision 0070.
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
interface FieldRule {
  name: unknown;
  type: unknown;
  options: unknown;
}

function fieldsOf(config: unknown): FieldRule[] {
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

function brokenFields(fields: readonly FieldRule[]): Problem[] {
  const names = repeats(fields.map(({ name }) => name)).map(({ again, first }) => ({
    path: `/fields/${again}/name`,
    message: `must be unique: /fields/${first} has the same name`,
  }));
  return [...names, ...fields.flatMap((field, index) => brokenOptions(field, `/fields/${index}/options`))];
}

function brokenOptions({ type, options }: FieldRule, path: string): Problem[] {
  // An empty list says that there are none, which is nothing wrong: clients that always send one do so.
  if (Array.isArray(options) && options.length === 0) return [];
  if (type !== "select") {
    const is_refused = options !== undefined && typeof type === "string";
    return is_refused ? [{ path, message: "only a select has options: leave them out" }] : [];
  }
  if (options === undefined) return [{ path, message: "a select needs at least one option" }];
  if (!Array.isArray(options)) return []; // its shape is named already
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

type Field = FormStructure["fields"][number];

/**
 * Checks answers, whatever they are, against a form: each must be one of its fields', and of that field's type.
 * Whether all that must be answered is, `unanswered` tells. Places are JSON pointers into the answers, "" the
 * answers themselves. Decision 0103.
 */
export function checkAnswers({ fields }: FormStructure, answers: unknown): Problem[] {
  if (typeof answers !== "object" || answers === null || Array.isArray(answers)) {
    return [{ path: "", message: "must be an object with an answer by each field's name" }];
  }
  const bytes = Buffer.byteLength(JSON.stringify(answers));
  if (bytes > LIMITS.form_bytes) {
    return [{ path: "", message: `must be at most ${LIMITS.form_bytes} bytes of JSON, it has ${bytes}` }];
  }
  const fields_by_name = new Map(fields.map((field) => [field.name, field]));
  return Object.entries(answers)
    .flatMap(([name, answer]: [string, unknown]) => {
      const field = fields_by_name.get(name);
      const message = field ? brokenAnswer(field, answer) : "is not a field of the form";
      return message === null ? [] : [{ path: `/${pointerPart(name)}`, message }];
    })
    .slice(0, LIMITS.form_problems);
}

/** Whether `checkAnswers` has nothing against them. */
export function areAnswers(form: FormStructure, answers: unknown): answers is Answers {
  return checkAnswers(form, answers).length === 0;
}

/** The names of the fields that must be answered and are not: a blank is no answer, nor is an empty box. */
export function unanswered({ fields }: FormStructure, answers: Answers): string[] {
  return fields
    .filter(({ name, type, required }) => {
      const answer = ownValue(answers, name);
      const is_answered =
        type === "checkbox"
          ? answer === true
          : typeof answer === "number" || (typeof answer === "string" && answer.trim() !== "");
      return required === true && !is_answered;
    })
    .map(({ name }) => name);
}

/** Digits, and what people part them by. */
const TELEPHONE = /^\+?(?=(\D*\d){3})[\d ().-]+$/;

/** What a text must be, by the type of its field. */
const TEXTS: Record<
  Exclude<Field["type"], "number" | "checkbox">,
  { noun: string; max: number; fits: (text: string, field: Field) => boolean }
> = {
  text: { noun: "a text", max: LIMITS.form_answer_length, fits: () => true },
  textarea: { noun: "a text", max: LIMITS.form_long_answer_length, fits: () => true },
  email: {
    noun: "an email address",
    max: SHARED_LIMITS.email_length,
    fits: (text) => Value.Check(Email, text),
  },
  tel: { noun: "a telephone number", max: 30, fits: (text) => TELEPHONE.test(text) },
  date: { noun: "a date such as 2026-01-31", max: 10, fits: isDate },
  select: {
    noun: "one of the options",
    max: LIMITS.form_text_length,
    fits: (text, { options }) => options?.includes(text) === true,
  },
};

/** What is wrong with an answer, or null. An empty text is no answer, and so none that is wrong. */
function brokenAnswer(field: Field, answer: unknown): string | null {
  if (field.type === "number")
    return typeof answer === "number" && Number.isFinite(answer) ? null : "must be a number";
  if (field.type === "checkbox") return typeof answer === "boolean" ? null : "must be true or false";
  if (answer === "") return null;
  const { noun, max, fits } = TEXTS[field.type];
  const is_good = typeof answer === "string" && Array.from(answer).length <= max && fits(answer, field);
  return is_good ? null : `must be ${noun}, of at most ${max} characters`;
}

function isDate(text: string): boolean {
  try {
    return /^\d{4}-\d\d-\d\d$/.test(text) && Temporal.PlainDate.from(text).toString() === text;
  } catch {
    return false;
  }
}
