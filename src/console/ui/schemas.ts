import { signal } from "@preact/signals";
import { fetchRaw } from "../api/call.ts";

/** What the interface's schemas say of a value (JSON Schema 2020-12, as far as forms need it). */
export interface FieldSchema {
  $ref?: string;
  type?: string | readonly string[];
  title?: string;
  description?: string;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly FieldSchema[];
  items?: FieldSchema;
  required?: readonly string[];
  properties?: Record<string, FieldSchema>;
}

const schemas = signal<Record<string, FieldSchema> | undefined>(undefined);
let asking: Promise<void> | undefined;

/** The schema of a form's body; undefined until it has come. Forms work without it: the service judges. */
export function schemaOf(title: string | undefined): FieldSchema | undefined {
  if (title === undefined) return undefined;
  asking ??= load();
  return schemas.value?.[title];
}

async function load(): Promise<void> {
  try {
    schemas.value = await (await fetchRaw("/console/schemas.json")).json();
  } catch {
    asking = undefined;
  }
}

/** A schema without what only wraps it: a reference, or null beside it. */
function unwrapped(schema: FieldSchema | undefined): FieldSchema | undefined {
  const name = schema?.$ref?.split("/").at(-1);
  if (name !== undefined) return unwrapped(schemas.value?.[name]);
  const kinds = schema?.anyOf?.filter(({ type }) => type !== "null").map(unwrapped);
  if (schema === undefined || kinds === undefined) return schema;
  if (kinds.length === 1) return { ...kinds[0], ...(schema.description !== undefined && schema) };
  // One of several shapes: what any of them has, and what all of them require.
  const properties = Object.assign({}, ...kinds.map((kind) => kind?.properties ?? {}));
  const required = (kinds[0]?.required ?? []).filter((field) =>
    kinds.every((kind) => kind?.required?.includes(field)),
  );
  return { ...schema, properties, required };
}

/** The schema of a field of an object, or of the rows of an array ("items"). */
export function schemaIn(schema: FieldSchema | undefined, name: string): FieldSchema | undefined {
  const parent = unwrapped(schema);
  return unwrapped(name === "items" && parent?.items ? parent.items : parent?.properties?.[name]);
}

/** The fields that an object must have. */
export const requiredOf = (schema: FieldSchema | undefined): readonly string[] =>
  unwrapped(schema)?.required ?? [];

/** Whether a field may be null, which takes its value away; undefined where that is not known. */
export function mayBeNull(schema: FieldSchema | undefined, name: string): boolean | undefined {
  const field = unwrapped(schema)?.properties?.[name];
  return field && (field.type === "null" || (field.anyOf?.some(({ type }) => type === "null") ?? false));
}
