import {
  FormatRegistry,
  Kind,
  OptionalKind,
  type TObject,
  type TProperties,
  type TSchema,
  Type,
} from "@sinclair/typebox";

/**
 * The input schema for a path or query, whose values arrive as text: whole numbers as plain digits (1e3, 0x10 and " 7"
 * are refused), booleans as true and false, other fields unchanged. The documentation shows the original input.
 */
export function fromStrings<T extends TProperties>(input: TObject<T>): TObject<T> {
  const fields: TProperties = {};
  for (const [name, field] of Object.entries(input.properties)) {
    const read = acceptsText(field);
    fields[name] = field[OptionalKind] === "Optional" ? Type.Optional(read) : read;
  }
  // Decoded, it has the input's own type; TypeScript can't follow that through a loop.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Type.Object(fields, { additionalProperties: false }) as unknown as TObject<T>;
}

function acceptsText(field: TSchema): TSchema {
  if (field[Kind] === "Integer") return integerText(field);
  return field[Kind] === "Boolean" ? BooleanText : field;
}

const BooleanText = Type.Transform(
  Type.Union([Type.Literal("true"), Type.Literal("false")], {
    description: "true or false",
    "x-schema": { type: "boolean" },
  }),
)
  .Decode((text) => text === "true")
  .Encode((value): "true" | "false" => (value ? "true" : "false"));

function integerText({
  minimum = Number.MIN_SAFE_INTEGER,
  maximum = Number.MAX_SAFE_INTEGER,
  description,
}: TSchema) {
  const format = `integer ${minimum} to ${maximum}`;
  FormatRegistry.Set(format, (text) => {
    const value = Number(text);
    return /^(0|-?[1-9]\d{0,15})$/.test(text) && value >= minimum && value <= maximum;
  });
  const range =
    maximum === Number.MAX_SAFE_INTEGER
      ? `a whole number from ${minimum}`
      : format.replace("integer", "a whole number from");
  const shown = { type: "integer", minimum, maximum, ...(description === undefined ? {} : { description }) };
  return Type.Transform(Type.String({ format, description: range, "x-schema": shown }))
    .Decode(Number)
    .Encode(String);
}
