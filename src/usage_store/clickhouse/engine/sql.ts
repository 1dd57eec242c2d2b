import type { Decimal } from "../../../core/money.ts";

// The values of statements. All input enters SQL through here, as literals: a parameter of HTTP is part of the address,
// which is bounded.

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A whole number within 2^53. */
export function integer(value: number): string {
  if (Number.isSafeInteger(value)) return value < 0 ? `(${value})` : String(value);
  throw new RangeError(`Cannot put ${value} into a statement: it is no whole number within 2^53`);
}

/** An array of whole numbers, as BIGINT. */
export function integers(values: readonly number[]): string {
  return `CAST([${values.map(integer).join()}], 'Array(Int64)')`;
}

/** The elements of an IN, at least one. */
export function integerSet(values: readonly number[]): string {
  return `(${values.map(integer).join()})`;
}

const SPECIAL = /[\\'\0]/g;

export function text(value: string): string {
  return `'${value.replaceAll(SPECIAL, (character) => (character === "\0" ? "\\0" : `\\${character}`))}'`;
}

export function texts(values: readonly string[]): string {
  return `CAST([${values.map(text).join()}], 'Array(String)')`;
}

/** The elements of an IN, at least one. */
export function textSet(values: readonly string[]): string {
  return `(${values.map(text).join()})`;
}

/** A lower-case UUID. */
export function uuid(value: string): string {
  if (UUID.test(value)) return `toUUID('${value}')`;
  throw new TypeError("Cannot put an id into a statement: it is no UUID");
}

/** An array of at least one text without line breaks: as one literal, since thousands take the engine long to read. */
export function lines(values: readonly string[]): string {
  if (values.some((value) => value.includes("\n")))
    throw new TypeError("Cannot put lines into a statement: one has a line break");
  return `splitByChar('\\n', ${text(values.join("\n"))})`;
}

/** An array of ids, at least one; also the elements of an IN. */
export function uuids(values: readonly string[]): string {
  if (values.some((value) => !UUID.test(value)))
    throw new TypeError("Cannot put an id into a statement: it is no UUID");
  return `CAST(${lines(values)}, 'Array(UUID)')`;
}

/** A usage, in millionths. */
export function usage(millionths: bigint): string {
  const digits = String(millionths).replace("-", "").padStart(7, "0");
  return `toDecimal64('${millionths < 0n ? "-" : ""}${digits.slice(0, -6)}.${digits.slice(-6)}', 6)`;
}

/** A value of a row: numbers of 64 bits and decimals come as text. */
export type Value = string | number | null;
export type Row = readonly Value[];

/** Reads an integer column that stays within 2^53. */
export function asNumber(value: Value | undefined): number {
  const number = Number(value);
  if (value !== null && Number.isSafeInteger(number)) return number;
  throw new TypeError(`Cannot read a column as a number: it holds ${typeof value}`);
}

/** Reads an integer column of any size. */
export function asBigInt(value: Value | undefined): bigint {
  if (typeof value === "string" || typeof value === "number") return BigInt(value);
  throw new TypeError(`Cannot read a column as a bigint: it holds ${typeof value}`);
}

/** Reads a text column. */
export function asText(value: Value | undefined): string {
  if (typeof value === "string") return value;
  throw new TypeError(`Cannot read a column as text: it holds ${typeof value}`);
}

/** Reads a decimal column. */
export function asDecimal(value: Value | undefined): Decimal {
  return asText(value);
}
