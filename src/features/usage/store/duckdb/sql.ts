import {
  BIGINT,
  type DuckDBConnection,
  DuckDBDecimalValue,
  type DuckDBType,
  DuckDBUUIDValue,
  type DuckDBValue,
  LIST,
  listValue,
  VARCHAR,
} from "@duckdb/node-api";
import type { Decimal } from "../../../../core/money.ts";
import { USAGE_TYPE } from "./schema.ts";

/** The values of a statement's parameters. Whatever comes from outside enters SQL only through here. */
export class Parameters {
  readonly values: DuckDBValue[] = [];
  readonly types: DuckDBType[] = [];

  /** Each of these adds a value and gives its place in the text: `$3`. */
  integer(value: number): string {
    return this.#add(BigInt(value), BIGINT);
  }

  integers(values: readonly number[]): string {
    return this.#add(listValue(values.map(BigInt)), LIST(BIGINT));
  }

  text(value: string): string {
    return this.#add(value, VARCHAR);
  }

  texts(values: readonly string[]): string {
    return this.#add(listValue(values), LIST(VARCHAR));
  }

  /** A usage, in millionths. */
  usage(millionths: bigint): string {
    return this.#add(new DuckDBDecimalValue(millionths, USAGE_TYPE.width, USAGE_TYPE.scale), USAGE_TYPE);
  }

  #add(value: DuckDBValue, type: DuckDBType): string {
    this.types.push(type);
    return `$${this.values.push(value)}`;
  }
}

/** A text in a place where no parameter may stand. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Runs a statement and gives its rows, by column position. */
export async function query(
  connection: DuckDBConnection,
  sql: string,
  parameters: Parameters = new Parameters(),
): Promise<DuckDBValue[][]> {
  const result = await connection.run(sql, parameters.values, parameters.types);
  return result.getRows();
}

/** Reads an integer column that stays within 2^53. */
export function asNumber(value: DuckDBValue | undefined): number {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  throw new TypeError(`Cannot read a column as a number: it holds ${typeof value}`);
}

/** Reads an integer column of any size. */
export function asBigInt(value: DuckDBValue | undefined): bigint {
  if (typeof value === "bigint") return value;
  throw new TypeError(`Cannot read a column as a bigint: it holds ${typeof value}`);
}

/** Reads a text column. */
export function asText(value: DuckDBValue | undefined): string {
  if (typeof value === "string") return value;
  throw new TypeError(`Cannot read a column as text: it holds ${typeof value}`);
}

/** Reads a UUID column. */
export function asUuid(value: DuckDBValue | undefined): DuckDBUUIDValue {
  if (value instanceof DuckDBUUIDValue) return value;
  throw new TypeError(`Cannot read a column as a UUID: it holds ${typeof value}`);
}

/** Reads a decimal column that the statement turned into text: `12.500000` → `12.5`. */
export function asDecimal(value: DuckDBValue | undefined): Decimal {
  return asText(value).replace(/\.?0+$/, "");
}
