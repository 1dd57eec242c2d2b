import { Type } from "@sinclair/typebox";

declare global {
  interface JSON {
    /** ECMAScript's JSON.parse source text access, which TypeScript's library does not know yet. */
    rawJSON(text: string): { readonly rawJSON: string };
  }
}

/** A whole number as JSON writes it: above 2^53 by its digits, which a JavaScript number would not keep. */
export type WholeNumber = number | { readonly rawJSON: string };

/** A whole number of any size that we answer; `wholeNumber` makes it. */
export function WholeNumber(description: string) {
  return Type.Unsafe<WholeNumber>(Type.Unknown({ description, "x-schema": { type: "integer" } }));
}

export function wholeNumber(value: bigint): WholeNumber {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : JSON.rawJSON(String(value));
}

/** Reads JSON of our own so that its whole numbers are written again as they were. */
export function parseExactly(json: string): Record<string, unknown> {
  return JSON.parse(json, (_, value: unknown, { source }: { source?: string } = {}) =>
    typeof value === "number" && source !== undefined && /^-?\d+$/.test(source)
      ? wholeNumber(BigInt(source))
      : value,
  );
}
