import { expect, test } from "bun:test";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/server/validators/ajv";
import { type TSchema, Type } from "@sinclair/typebox";
import * as fc from "fast-check";
import { InstantText } from "../../src/core/instants.ts";
import { Email, Id, Name, nullable, oneOf } from "../../src/core/schema.ts";
import { describe, omitFields, type WireSchema, wireSchema } from "../../src/mcp/wire_schema.ts";
import type { Json } from "../support/harness.ts";

const ajv = new AjvJsonSchemaValidator();
const plain = (schema: WireSchema): Json => JSON.parse(JSON.stringify(schema));
const isValid = (schema: WireSchema, value: unknown) => ajv.getValidator(plain(schema))(value).valid;

const NAMES = ["id", "name", "lines", "metadata", "created_at", "constructor", "toString"];

/** A schema as the operations have them, with a value that fits it. */
interface Sample {
  schema: TSchema;
  value: unknown;
}

/** Leaves, lists, records, things that may be null, and open objects whose names are a user's. */
const { sample } = fc.letrec<{ sample: Sample }>((tie) => ({
  sample: fc.oneof(
    { maxDepth: 4 },
    fc.integer({ min: 1 }).map((value) => ({ schema: Id, value })),
    fc.string().map((value) => ({ schema: Type.String(), value })),
    fc.constantFrom("a", "b").map((value) => ({ schema: oneOf(["a", "b"]), value })),
    fc
      .dictionary(fc.constantFrom(...NAMES), fc.string())
      .map((value) => ({ schema: Type.Object({}, { additionalProperties: true }), value })),
    tie("sample").map(({ schema, value }) => ({ schema: Type.Array(schema), value: [value, value] })),
    fc.tuple(tie("sample"), fc.boolean()).map(([{ schema, value }, is_null]) => ({
      schema: nullable(schema),
      value: is_null ? null : value,
    })),
    fc.dictionary(fc.constantFrom(...NAMES), tie("sample"), { minKeys: 1 }).map((fields) => ({
      schema: Type.Object(mapped(fields, ({ schema }) => schema)),
      value: mapped(fields, ({ value }) => value),
    })),
  ),
}));

function mapped<T>(fields: Record<string, Sample>, part: (sample: Sample) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, part(field)]));
}

const leftOut = fc.uniqueArray(fc.constantFrom(...NAMES)).map((names) => new Set(names));

test("what fits a schema of the service fits what clients see of it", () => {
  fc.assert(fc.property(sample, ({ schema, value }) => isValid(wireSchema(schema), value)));
});

test("no declared field of a left-out name stays, no other is lost, and nothing is changed", () => {
  fc.assert(
    fc.property(sample, leftOut, ({ schema, value }, names) => {
      const whole = wireSchema(schema);
      const left = omitFields(whole, value, names);
      expect(omitFields(whole, left, names)).toEqual(left);
      expect(omitFields(whole, value, new Set())).toEqual(value);
    }),
  );
  const whole = wireSchema(
    Type.Object({ id: Id, metadata: Type.Object({}, { additionalProperties: true }) }),
  );
  const value = { id: 1, metadata: { id: "a user's" }, other: 2 };
  expect(omitFields(whole, value, new Set(["id"]))).toEqual({ metadata: { id: "a user's" }, other: 2 });
});

test("words become an enum, null a type, and the service's own formats what they mean", () => {
  const wire = wireSchema(
    Type.Object({
      kind: describe(oneOf(["a", "b"]), "Which"),
      at: nullable(InstantText),
      id: Id,
      name: describe(Name, "Its name"),
      email: Email,
    }),
  );
  expect(plain(wire)).toEqual({
    type: "object",
    required: ["kind", "at", "id", "name", "email"],
    properties: {
      kind: { type: "string", enum: ["a", "b"], description: "Which" },
      at: {
        type: ["string", "null"],
        format: "date-time",
      },
      id: { type: "integer" },
      name: { type: "string", description: "Its name" },
      email: { type: "string", format: "email" },
    },
  });
});
