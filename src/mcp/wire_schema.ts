import type { TProperties, TSchema } from "@sinclair/typebox";
import { isLongList, partsOf } from "../core/long_list.ts";

/** A JSON Schema as clients see it: plain data. */
export interface WireSchema {
  type?: string | string[] | undefined;
  description?: string | undefined;
  properties?: Record<string, WireSchema> | undefined;
  required?: string[] | undefined;
  items?: WireSchema | undefined;
  anyOf?: WireSchema[] | undefined;
  enum?: unknown[] | undefined;
  additionalProperties?: boolean | WireSchema | undefined;
  [keyword: string]: unknown;
}

/** Formats that JSON Schema defines; others are ours, and their description explains them. */
const FORMATS = new Set(["date-time", "uuid", "email", "uri"]);

/** Keywords that are of no use to a client. */
const OMITTED_KEYWORDS = new Set(["title", "examples", "x-schema", "x-openapi", "x-says", "x-only", "$id"]);

/** Bounds that only keep numbers safe. */
const IRRELEVANT_MAXIMUM = 1_000_000_000;

/** Bounds that a refusal names: rare enough that listing them to every model costs more. */
const RARE_BOUNDS = new Set(["maxLength", "maxItems", "maxProperties", "uniqueItems"]);

/** Forms that go without saying. */
const FAMILIAR = /^(a decimal such as|(\d+ to|at most) \d+ characters(, not blank)?$)/;

/** Keywords that a description replaces. */
const DESCRIBED = new Set(["pattern", "minLength", "maxLength"]);

/** Describes what a parameter is for, beside what its schema says about its form. */
export function describe<T extends TSchema>(schema: T, text: string): T {
  return { ...schema, "x-says": text };
}

/** Describes a parameter in full: what its schema says about its form is left to the refusal. */
export function describeOnly<T extends TSchema>(schema: T, text: string): T {
  return { ...schema, "x-says": text, "x-only": true };
}

/** The same parameters with one text for all, which sends to where their form and meaning are described. */
export function describeAll<T extends TProperties>(fields: T, text: string): T {
  const described = mapValues(
    fields,
    (field): TSchema => ({
      ...describeOnly(field, text),
      "x-schema": {},
    }),
  );
  // The same names and types; TypeScript can't follow that through the map.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return described as T;
}

/**
 * Converts a TypeBox schema to compact JSON Schema: unions of literals become `enum`, "or null" becomes a list of
 * types, and bounds of safe integers are dropped.
 */
export function wireSchema(schema: WireSchema): WireSchema {
  const { "x-says": says, "x-only": is_whole, "x-schema": shown, ...given } = schema;
  const shape: WireSchema = isRecord(shown) ? replaceShape(given, shown) : given;
  const { description: form, ...wire } = simplified(shape);
  // A known format needs no words.
  const is_known =
    is_whole === true || wire.format !== undefined || (form !== undefined && FAMILIAR.test(form));
  const parts = [says, is_known ? undefined : form];
  const description = parts.filter((text) => typeof text === "string").join(": ");
  return description === "" ? wire : { ...wire, description };
}

/** The schema that the documentation shows instead, with the schema's own description. */
function replaceShape(given: WireSchema, shown: Record<string, unknown>): WireSchema {
  const { description } = given;
  return { ...(description === undefined ? {} : { description }), ...shown };
}

function simplified(schema: WireSchema): WireSchema {
  const wire: WireSchema = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (OMITTED_KEYWORDS.has(keyword) || RARE_BOUNDS.has(keyword) || value === undefined) continue;
    if (keyword === "minItems" && value === 1) continue;
    // It is refused, but models don't need to be told.
    if (keyword === "additionalProperties" && value === false) continue;
    // An open record, which has no names to tell.
    if (keyword === "patternProperties") continue;
    if (DESCRIBED.has(keyword) && schema.description !== undefined) continue;
    if (keyword === "format" && !(typeof value === "string" && FORMATS.has(value))) continue;
    if (keyword === "maximum" && typeof value === "number" && value >= IRRELEVANT_MAXIMUM) continue;
    if (keyword === "minimum" && value === Number.MIN_SAFE_INTEGER) continue;
    if (keyword === "minimum" && isId(schema)) continue;
    wire[keyword] = value;
  }
  if (schema.properties) wire.properties = mapValues(schema.properties, wireSchema);
  if (schema.items) wire.items = wireSchema(schema.items);
  if (isRecord(schema.additionalProperties))
    wire.additionalProperties = wireSchema(schema.additionalProperties);
  if (!schema.anyOf) return wire;
  delete wire.anyOf;
  return merged(wire, schema.anyOf.map(wireSchema));
}

/** Whether a schema is that of an id, whose bounds say nothing. */
function isId({ minimum, maximum }: WireSchema): boolean {
  return minimum === 1 && maximum === Number.MAX_SAFE_INTEGER;
}

/** Merges alternatives into one schema where they are literals, or a type and null. */
function merged(wire: WireSchema, variants: WireSchema[]): WireSchema {
  if (variants.every(({ const: word }) => typeof word === "string"))
    return { ...wire, type: "string", enum: variants.map(({ const: word }) => word) };
  const types = variants.map((variant) =>
    Object.keys(variant).join() === "type" ? variant.type : undefined,
  );
  if (types.every((type) => typeof type === "string")) return { ...wire, type: types };
  const [only, ...others] = variants.filter(({ type }) => type !== "null");
  if (only?.type !== undefined && others.length === 0) {
    const words = only.enum ? { enum: [...only.enum, null] } : {};
    return { ...only, ...words, ...wire, type: [only.type, "null"].flat() };
  }
  return { ...wire, anyOf: variants };
}

/**
 * Removes the named fields wherever the schema declares them: a user's own field of the same name in metadata, in
 * a payload or in a form stays.
 */
export function omitFields(schema: WireSchema, value: unknown, names: ReadonlySet<string>): unknown {
  if (schema.anyOf) {
    return schema.anyOf.reduce((remaining: unknown, variant) => omitFields(variant, remaining, names), value);
  }
  if (Array.isArray(value)) {
    const { items } = schema;
    return items ? value.map((item) => omitFields(items, item, names)) : value;
  }
  const { properties } = schema;
  if (!isRecord(value) || !properties) return value;
  const entries = Object.entries(value).flatMap(([name, member]) => {
    const field = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (field === undefined) return [[name, member]];
    return names.has(name) ? [] : [[name, omitFields(field, member, names)]];
  });
  return Object.fromEntries(entries);
}

/** As `omitFields`, a long list part by part. */
export async function omitInTurns(
  schema: WireSchema,
  answer: unknown,
  names: ReadonlySet<string>,
): Promise<unknown> {
  if (!isLongList(answer)) return omitFields(schema, answer, names);
  const parts: unknown[] = [];
  for await (const part of partsOf(answer)) parts.push(omitFields(schema, part, names));
  return { data: parts.flatMap((part) => (isRecord(part) ? part.data : [])) };
}

function mapValues<A, B>(record: Record<string, A>, map: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
