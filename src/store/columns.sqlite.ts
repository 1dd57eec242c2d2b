import {
  check,
  customType,
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";
import { fromMinorUnits, type Decimal, toBig, toMinorUnits } from "../core/money.ts";
import type { PostgresColumns } from "./columns.postgres.ts";

// Text, because SQLite's NUMERIC affinity would turn '0.10' into a float.
const wireNumber = customType<{ data: number; driverData: string }>({
  dataType: () => "text",
  toDriver: (value) => toBig(value).toFixed(),
  fromDriver: Number,
});

const sen = customType<{ data: Decimal; driverData: number }>({
  dataType: () => "integer",
  toDriver: toMinorUnits,
  fromDriver: fromMinorUnits,
});

/** The same columns on SQLite. Instants are ISO text of fixed width, so that text order is time order. */
export const sqliteColumns = {
  dialect: "sqlite",
  table: sqliteTable,
  index,
  uniqueIndex,
  primaryKey,
  check,
  id: () => integer("id").primaryKey({ autoIncrement: true }),
  integer: (name: string) => integer(name),
  text: (name: string) => text(name),
  enumeration: (name: string, values: [string, ...string[]]) => text(name, { enum: values }),
  boolean: (name: string) => integer(name, { mode: "boolean" }),
  at: (name: string) => text(name),
  json: (name: string) => text(name, { mode: "json" }),
  jsonText: (name: string) => text(name, { mode: "json" }),
  decimal: (name: string) => text(name),
  wireNumber,
  sen,
} as unknown as PostgresColumns; // the one cast: both kits build the same tables, typed as PostgreSQL's
