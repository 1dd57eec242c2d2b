import type { TSchema } from "@sinclair/typebox";
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
const OMITTED_KEYWORDS = new Set(["title", "examples", "x-schema", "x-says", "$id"]);

/** Bounds that only keep numbers safe. */
const IRRELEVANT_MAXIMUM = 1_000_000_000;

/** Keywords that a description replaces. */
const DESCRIBED = new Set(["pattern", "minLength", "maxLength"]);

/** Describes what a parameter is for, beside what its schema says about its form. */
export function describe<T extends TSchema>(schema: T, text: string): T {
  return { ...schema, "x-says": text };
}

/**
 * Converts a TypeBox schema to compact JSON Schema: unions of literals become `enum`, "or null" becomes a list of
 * types, and bounds of safe integers are dropped.
 */
export function wireSchema(schema: WireSchema): WireSchema {
  const { "x-says": says, "x-schema": shown, ...given } = schema;
  const shape: WireSchema = isRecord(shown) ? replaceShape(given, shown) : given;
  const { description: form, ...wire } = simplified(shape);
  // A known format needs no words.
  const parts = [says, wire.format === undefined ? form : undefined];
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
    if (OMITTED_KEYWORDS.has(keyword) || value === undefined) continue;
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
  const [only, ...others] = variants.filter(({ type }) => type !== "null");
  if (only && others.length === 0 && typeof only.type === "string") {
    const words = only.enum ? { enum: [...only.enum, null] } : {};
    return { ...only, ...words, ...wire, type: [only.type, "null"] };
  }
  return { ...wire, anyOf: variants };
}

/**
 * Outlines an output schema: types and enums down to `depth` objects, without the named fields. The full result
 * matches it too, since it closes no object. Models pay for schemas by the token, and read the result anyway.
 */
export function outlineOf(schema: WireSchema, names: ReadonlySet<string>, depth: number): WireSchema {
  const { type, enum: words, const: word, properties, required, items, anyOf } = schema;
  const outline: WireSchema = {
    ...(type === undefined ? {} : { type }),
    ...(words === undefined ? {} : { enum: words }),
    ...(word === undefined ? {} : { const: word }),
  };
  if (items) outline.items = outlineOf(items, names, depth);
  if (anyOf) outline.anyOf = anyOf.map((variant) => outlineOf(variant, names, depth));
  if (!properties || depth === 0) return outline;
  const remaining = Object.entries(properties).filter(([name]) => !names.has(name));
  outline.properties = Object.fromEntries(
    remaining.map(([name, field]) => [name, outlineOf(field, names, depth - 1)]),
  );
  outline.required = (required ?? []).filter((name) => !names.has(name));
  return outline;
}

/**
 * Removes the named fields wherever the schema declares them: a user's own field of the same name in metadata, in
 * a payload or in a form stays.
 */
export function omitFields(schema: WireSchema, value: unknown, names: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items ? value.map((item) => omitFields(items, item, names)) : value;
  }
  if (schema.anyOf) {
    return schema.anyOf.reduce((remaining: unknown, variant) => omitFields(variant, remaining, names), value);
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
