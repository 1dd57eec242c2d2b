import { Type } from "@sinclair/typebox";

/** A decimal on the wire, as text, which is exact at any size. */
export const DecimalText = Type.String({ description: "a decimal such as 12.5" });

/** A decimal in a request, as text or a JSON number; `readDecimal` reads it. */
export const DecimalInput = Type.Union([Type.String(), Type.Number()], {
  description: "a decimal such as 12.5, as a string or a number",
});

/** The same, or null for none. */
export const nullableDecimal = () =>
  Type.Union([Type.String(), Type.Number(), Type.Null()], {
    description: "a decimal such as 12.5, as a string or a number, or null",
  });
