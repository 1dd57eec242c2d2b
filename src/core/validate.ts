import { Kind, type StaticDecode, TransformKind, type TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { type ValueError, ValueErrorType } from "@sinclair/typebox/errors";
import { HasTransform, TransformDecode, Value } from "@sinclair/typebox/value";
import { AppError, type ErrorDetail, summarize } from "./errors.ts";

/** At most this many broken rules are named in one answer. */
const DETAILS = 100;

/** Validates and reads a value that did not come by HTTP. Errors: invalid, naming every broken rule. */
export function decode<T extends TSchema>(schema: T, value: unknown): StaticDecode<T> {
  if (!Value.Check(schema, value)) throw invalidInput(Value.Errors(schema, value));
  return Value.Decode(schema, value);
}

/** Checks values against a schema that is compiled at its first use: for what every request passes. */
export class Checker<T extends TSchema> {
  readonly #schema: T;
  readonly #defaults: object | null;
  #compiled: TypeCheck<T> | undefined;
  #decoded: DecodedFields | undefined;

  constructor(schema: T) {
    this.#schema = schema;
    const fields: [string, TSchema][] = Object.entries(schema.properties ?? {});
    const given = fields.flatMap(([name, field]) =>
      field.default === undefined ? [] : [[name, field.default]],
    );
    this.#defaults = given.length === 0 ? null : Object.fromEntries(given);
  }

  /** The value as its schema decodes it. Errors: invalid, naming every broken rule. */
  read(value: unknown): StaticDecode<T> {
    const check = this.#check;
    const whole: unknown = this.#defaults && isObject(value) ? { ...this.#defaults, ...value } : value;
    if (!check.Check(whole)) throw invalidInput(check.Errors(whole));
    return this.#decode(whole);
  }

  /** As the library decodes, but for what it does anew each time: checking the value, and working out the fields. */
  #decode(value: unknown): unknown {
    const fields = (this.#decoded ??= decodedFields(this.#schema));
    if (fields === null) return TransformDecode(this.#schema, [], value);
    if (fields.length === 0 || !isObject(value)) return value;
    const decoded: Record<string, unknown> = { ...value };
    for (const [name, field] of fields)
      if (decoded[name] !== undefined) decoded[name] = TransformDecode(field, [], decoded[name]);
    return decoded;
  }

  fits(value: unknown): boolean {
    return this.#check.Check(value);
  }

  get #check(): TypeCheck<T> {
    return (this.#compiled ??= TypeCompiler.Compile(this.#schema));
  }
}

/** The fields that are not taken as they are; null where more than fields is decoded. */
type DecodedFields = readonly [string, TSchema][] | null;

function decodedFields(schema: TSchema): DecodedFields {
  if (schema[Kind] !== "Object" || TransformKind in schema) return null;
  const fields: [string, TSchema][] = Object.entries(schema.properties);
  return fields.filter(([, field]) => HasTransform(field, []));
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The AppError of an input that does not fit its schema: every broken rule with its place. */
export function invalidInput(errors: Iterable<ValueError>): AppError {
  const details: ErrorDetail[] = [];
  for (const error of innermost(errors)) {
    // A missing field is also reported as being of the wrong type: the first word on a place is enough.
    if (details.some((detail) => detail.path === error.path)) continue;
    details.push({ path: error.path, message: messageOf(error) });
    if (details.length === DETAILS) break;
  }
  const words = summarize(details, details.length === DETAILS);
  return new AppError("invalid", words || "The request breaks a rule", { details });
}

/** The errors inside a value that may also be null are the value's own, not "neither fits". */
function* innermost(errors: Iterable<ValueError>): Iterable<ValueError> {
  for (const error of errors) {
    const variants: TSchema[] = error.type === ValueErrorType.Union ? (error.schema.anyOf ?? []) : [];
    const [single, ...others] = variants.flatMap((variant, index) =>
      variant.type === "null" ? [] : [index],
    );
    const inside =
      single === undefined || others.length > 0 || variants.length < 2 ? undefined : error.errors[single];
    if (inside) yield* innermost(inside);
    else yield error;
  }
}

function messageOf({ type, schema, message }: ValueError): string {
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- the library's own words do for the rest
  switch (type) {
    case ValueErrorType.ObjectRequiredProperty:
      return "is required";
    case ValueErrorType.ObjectAdditionalProperties:
      return `is not a known field; known are ${Object.keys(schema.properties ?? {}).join(", ") || "none"}`;
    case ValueErrorType.StringMinLength:
    case ValueErrorType.StringMaxLength:
      return `must be ${schema.description ?? `${schema.minLength ?? 0} to ${schema.maxLength ?? "any number of"} characters`}`;
    case ValueErrorType.IntegerMinimum:
    case ValueErrorType.IntegerMaximum:
    case ValueErrorType.NumberMinimum:
    case ValueErrorType.NumberMaximum:
      return `must be ${range(schema)}`;
    case ValueErrorType.ArrayMinItems:
    case ValueErrorType.ArrayMaxItems:
      return `must have ${schema.minItems ?? 0} to ${schema.maxItems ?? "any number of"} entries`;
    case ValueErrorType.ArrayUniqueItems:
      return "must not hold an entry twice";
    case ValueErrorType.Integer:
      return `must be a whole number`;
    case ValueErrorType.Union:
      return `must be ${schema.description ?? alternatives(schema)}`;
    case ValueErrorType.StringPattern:
    case ValueErrorType.StringFormat:
      return `must be ${schema.description ?? `of the form ${schema.pattern ?? schema.format}`}`;
    default:
      return message
        .replace(/^Expected /, "must be ")
        .replace(/^must be (string|number|boolean)$/, "must be a $1")
        .replace(/^must be (object|array)$/, "must be an $1");
  }
}

function range({ minimum, maximum }: TSchema): string {
  if (minimum === undefined) return `at most ${maximum}`;
  return maximum === undefined ? `at least ${minimum}` : `from ${minimum} to ${maximum}`;
}

function alternatives(schema: TSchema): string {
  const options: TSchema[] = schema.anyOf ?? [];
  return `one of ${options.map((option) => option.const ?? option.title ?? option.type ?? "another shape").join(", ")}`;
}
