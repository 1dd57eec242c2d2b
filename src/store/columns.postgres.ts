import {
  bigint,
  boolean,
  check,
  customType,
  index,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from "drizzle-orm/pg-core";
import { fromMinorUnits, type Decimal, toBig, toMinorUnits } from "../core/money.ts";
import type { IsoInstant } from "../core/time.ts";

/** `2026-11-21 13:00:00.5+00` as PostgreSQL writes it in UTC → `2026-11-21T13:00:00.500Z`. */
function fromTimestamptz(written: string): IsoInstant {
  const [, date, time, fraction = ""] = /^(\S+) (\d\d:\d\d:\d\d)(?:\.(\d{1,3}))?\+00$/.exec(written) ?? [];
  if (date === undefined) throw new Error(`Cannot read a timestamp that is not in UTC: ${written}`);
  return `${date}T${time}.${fraction.padEnd(3, "0")}Z`;
}

const at = customType<{ data: IsoInstant; driverData: string }>({
  dataType: () => "timestamp (3) with time zone",
  fromDriver: fromTimestamptz,
});

// numeric without a precision keeps the digits it was given: "17.00" stays "17.00".
const exact = customType<{ data: Decimal; driverData: string }>({ dataType: () => "numeric" });

/** JSON as it was written, the order of its keys too, which jsonb does not keep. */
const jsonText = customType<{ data: unknown; driverData: string }>({
  dataType: () => "text",
  toDriver: (value) => JSON.stringify(value),
  fromDriver: (written): unknown => JSON.parse(written),
});

/** Whole sen in storage, so that amounts compare as numbers; `"100.00"` in code. */
const sen = customType<{ data: Decimal; driverData: string | number }>({
  dataType: () => "bigint",
  toDriver: toMinorUnits,
  fromDriver: (stored) => fromMinorUnits(Number(stored)),
});

const wireNumber = customType<{ data: number; driverData: string }>({
  dataType: () => "numeric",
  toDriver: (value) => toBig(value).toFixed(),
  fromDriver: Number,
});

/** The columns that tables are made of, in PostgreSQL's flavour; SQLite's have the same shape. */
export const postgresColumns = {
  dialect: "postgres",
  table: pgTable,
  index,
  uniqueIndex,
  primaryKey,
  check,
  /** An integer primary key that the database hands out and never hands out again. */
  id: () => bigint("id", { mode: "number" }).primaryKey().generatedByDefaultAsIdentity(),
  integer: (name: string) => bigint(name, { mode: "number" }),
  text: (name: string) => text(name),
  enumeration: <const V extends readonly [string, ...string[]]>(name: string, values: V) =>
    text(name, { enum: values }),
  boolean: (name: string) => boolean(name),
  /** An instant, as ISO text in code. */
  at,
  json: <T>(name: string) => jsonb(name).$type<T>(),
  jsonText: <T>(name: string) => jsonText(name).$type<T>(),
  /** An exact decimal, as text in code. */
  decimal: exact,
  /** An exact decimal that the interface fixes as a JSON number; at most 15 significant digits. */
  wireNumber,
  /** An amount of money with two digits after the point. */
  sen,
} as const;

export type PostgresColumns = typeof postgresColumns;
