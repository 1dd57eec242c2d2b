import { Value } from "@sinclair/typebox/value";
import { SHARED_LIMITS } from "../core/limits.ts";
import { LIMITS } from "./limits.ts";
import { type ErrorDetail, pointerPart } from "../core/errors.ts";
import { Day, Email } from "../core/schema.ts";
import { invalidInput } from "../core/validate.ts";
import { type Answers, FormStructure } from "./model.ts";

/** A problem of a form. `path` is a JSON pointer into its config, "" the config itself. */
export type Problem = ErrorDetail;

/**
 * Validates a config of any shape and names every problem: its shape, repeated names, and options that are missing,
 * repeated or not of a select. One that is too large is not read. Decision 0070.
 */
export function checkForm(config: unknown): Problem[] {
  if (config === undefined) return [{ path: "", message: "is required" }];
  const bytes = Buffer.byteLength(JSON.stringify(config));
  if (bytes > LIMITS.form_bytes) {
    return [{ path: "", message: `must be at most ${LIMITS.form_bytes} bytes of JSON, it has ${bytes}` }];
  }
  return [...shapeProblems(config), ...fieldProblems(fieldsOf(config))].slice(0, LIMITS.form_problems);
}

/** A problem in one line: its place in the config, and the message. */
export function problemText({ path, message }: Problem): string {
  return `${path === "" ? "/config" : path}: ${message}`;
}

function shapeProblems(config: unknown): Problem[] {
  if (Value.Check(FormStructure, config)) return [];
  return invalidInput(Value.Errors(FormStructure, config)).details ?? [];
}

/** A field of unknown shape, as far as it can be read. */
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

/** An own property, never one of the prototype. */
function ownValue(object: unknown, key: string): unknown {
  if (typeof object !== "object" || object === null) return undefined;
  return Object.getOwnPropertyDescriptor(object, key)?.value;
}

function fieldProblems(fields: readonly FieldRule[]): Problem[] {
  const names = repeats(fields.map(({ name }) => name)).map(({ again, first }) => ({
    path: `/fields/${again}/name`,
    message: `must be unique: /fields/${first} has the same name`,
  }));
  return [...names, ...fields.flatMap((field, index) => optionProblems(field, `/fields/${index}/options`))];
}

function optionProblems({ type, options }: FieldRule, path: string): Problem[] {
  // An empty list is fine for every type: some clients always send one.
  if (Array.isArray(options) && options.length === 0) return [];
  if (type !== "select") {
    const is_refused = options !== undefined && typeof type === "string";
    return is_refused ? [{ path, message: "only a select has options: leave them out" }] : [];
  }
  if (options === undefined) return [{ path, message: "a select needs at least one option" }];
  if (!Array.isArray(options)) return []; // a problem of the shape
  return repeats(options).map(({ again, first }) => ({
    path: `${path}/${again}`,
    message: `must be unique: option ${first} is the same`,
  }));
}

/** Repeated texts: the index of each repetition, and of the first occurrence. */
function repeats(values: readonly unknown[]): { again: number; first: number }[] {
  const first_index = new Map<string, number>();
  return values.flatMap((value, again) => {
    if (typeof value !== "string") return [];
    const first = first_index.get(value);
    if (first !== undefined) return [{ again, first }];
    first_index.set(value, again);
    return [];
  });
}

type Field = FormStructure["fields"][number];

/**
 * Validates answers of any shape against a form: each must belong to a field and be of its type; `unanswered` finds
 * those that are missing. Paths are JSON pointers into the answers, "" the answers themselves. Decision 0103.
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
      const message = field ? answerProblem(field, answer) : "is not a field of the form";
      return message === null ? [] : [{ path: `/${pointerPart(name)}`, message }];
    })
    .slice(0, LIMITS.form_problems);
}

/** Whether `checkAnswers` finds no problem. */
export function areAnswers(form: FormStructure, answers: unknown): answers is Answers {
  return checkAnswers(form, answers).length === 0;
}

/** The names of required fields without an answer; blank text and an unticked box are none. */
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

/** At least three digits, and what people separate them with. */
const TELEPHONE = /^\+?(?=(\D*\d){3})[\d ().-]+$/;

/** The rules of text answers, by the type of the field. */
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
  date: { noun: "a date such as 2026-01-31", max: 10, fits: (text) => Value.Check(Day, text) },
  select: {
    noun: "one of the options",
    max: LIMITS.form_text_length,
    fits: (text, { options }) => options?.includes(text) === true,
  },
};

/** The problem of an answer, or null. An empty text counts as unanswered and is always valid. */
function answerProblem(field: Field, answer: unknown): string | null {
  if (field.type === "number")
    return typeof answer === "number" && Number.isFinite(answer) ? null : "must be a number";
  if (field.type === "checkbox") return typeof answer === "boolean" ? null : "must be true or false";
  if (answer === "") return null;
  const { noun, max, fits } = TEXTS[field.type];
  const is_good = typeof answer === "string" && Array.from(answer).length <= max && fits(answer, field);
  return is_good ? null : `must be ${noun}, of at most ${max} characters`;
}
