import {
  BIGINT,
  type DuckDBConnection,
  type DuckDBDataChunk,
  type DuckDBMaterializedResult,
  type DuckDBType,
  DuckDBUUIDValue,
  type DuckDBValue,
  LIST,
  listValue,
  VARCHAR,
} from "@duckdb/node-api";
import { nextTurn, ROWS_A_TURN } from "../../../core/chunk.ts";
import type { Decimal } from "../../../core/money.ts";
import { USAGE_TYPE } from "./schema.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The values of a statement. All input enters SQL through here: numbers and UUIDs as literals, since a statement
 * without parameters is one call of the engine in place of three; the rest as parameters, `$3` in the text.
 */
export class Parameters {
  readonly values: DuckDBValue[] = [];
  readonly types: DuckDBType[] = [];

  /** A whole number within 2^53. */
  integer(value: number): string {
    if (Number.isSafeInteger(value)) return `(${value})::BIGINT`;
    throw new RangeError(`Cannot put ${value} into a statement: it is no whole number within 2^53`);
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

  /** A lower-case UUID. */
  uuid(value: string): string {
    if (UUID.test(value)) return `'${value}'::UUID`;
    throw new TypeError("Cannot put an id into a statement: it is no UUID");
  }

  /** A usage, in millionths. */
  usage(millionths: bigint): string {
    return `(${decimalSql(millionths)})::${USAGE_TYPE.toString()}`;
  }

  #add(value: DuckDBValue, type: DuckDBType): string {
    this.types.push(type);
    return `$${this.values.push(value)}`;
  }
}

/** The literal of a number of millionths: -500000n → `-0.500000`. */
export function decimalSql(millionths: number | bigint): string {
  const digits = String(millionths).replace("-", "").padStart(7, "0");
  return `${millionths < 0 ? "-" : ""}${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

/** Quotes a text, for places where no parameter is allowed. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/**
 * Runs a statement and returns its rows, by column position. The chunks are in memory already: to wait for each, as the
 * result's own getRows does, takes as long as a small statement.
 */
export async function query(
  connection: DuckDBConnection,
  sql: string,
  parameters?: Parameters,
): Promise<DuckDBValue[][]> {
  const rows: DuckDBValue[][] = [];
  for (const chunk of await chunksOf(connection, sql, parameters)) chunk.appendToRows(rows);
  return rows;
}

/** As `query`, for many thousand rows: each is converted by `read`, and other work gets its turn in between. */
export async function queryMany<T>(
  connection: DuckDBConnection,
  sql: string,
  parameters: Parameters,
  read: (row: DuckDBValue[]) => T,
): Promise<T[]> {
  const result = await run(connection, sql, parameters);
  const found: T[] = [];
  for (let i = 0; i < result.chunkCount; i++) {
    const chunk = result.getChunk(i);
    const columns = Array.from({ length: chunk.columnCount }, (_, column) => chunk.getColumnVector(column));
    const { rowCount } = chunk;
    for (let row = 0; row < rowCount; row++) {
      if (found.length > 0 && row % ROWS_A_TURN === 0) await nextTurn();
      found.push(read(columns.map((column) => column.getItem(row))));
    }
  }
  return found;
}

/** As `query`, with the rows in the engine's chunks. */
export async function chunksOf(
  connection: DuckDBConnection,
  sql: string,
  parameters?: Parameters,
): Promise<DuckDBDataChunk[]> {
  const result = await run(connection, sql, parameters);
  return Array.from({ length: result.chunkCount }, (_, i) => result.getChunk(i));
}

function run(
  connection: DuckDBConnection,
  sql: string,
  { values, types }: Parameters = new Parameters(),
): Promise<DuckDBMaterializedResult> {
  return values.length === 0 ? connection.run(sql) : connection.run(sql, values, types);
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

/** Reads a decimal column that the statement cast to text: `12.500000` → `12.5`. */
export function asDecimal(value: DuckDBValue | undefined): Decimal {
  return asText(value).replace(/\.?0+$/, "");
}
