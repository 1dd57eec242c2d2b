import { type SQL, sql } from "drizzle-orm";
import type { PgColumn, ReferenceConfig } from "drizzle-orm/pg-core";
import { type IsoInstant, iso } from "../core/time.ts";
import type { PostgresColumns } from "./columns.postgres.ts";

/** One dialect's column types, and the tables that were defined with them. */
export type ColumnKit = Omit<PostgresColumns, "dialect"> & {
  readonly dialect: "postgres" | "sqlite";
  /** The table of a definition in this dialect, made on first use. */
  readonly use: <T>(definition: TableDefinition<T>) => T;
  /** A column that refers to the id of another table's row. */
  ref(
    name: string,
    table: TableDefinition<{ id: PgColumn }>,
    actions?: ReferenceConfig["actions"],
  ): ReturnType<PostgresColumns["integer"]>;
};

/** A table as a function of the column kit: `(k) => k.table("clients", { id: k.id(), … })`. */
export type TableDefinition<T> = (k: ColumnKit) => T;

/** Makes a kit of a dialect's columns. */
export function columnKit(columns: PostgresColumns): ColumnKit {
  const tables = new Map<TableDefinition<unknown>, unknown>();
  const kit: ColumnKit = {
    ...columns,
    use<T>(definition: TableDefinition<T>): T {
      const table = (tables.get(definition) as T | undefined) ?? definition(kit);
      tables.set(definition, table);
      return table;
    },
    ref: (name, table, actions) => columns.integer(name).references(() => kit.use(table).id, actions),
  };
  return kit;
}

/** What an index is by so that `startingWith` finds a text by it. */
export function lowerOrder(k: ColumnKit, column: PgColumn): SQL {
  return k.dialect === "postgres" ? sql`lower(${column}) COLLATE "C"` : sql`lower(${column})`;
}

/** The two stamps of every record; queries set updated_at from the call's `now`. */
export function stamps(k: ColumnKit) {
  return { created_at: k.at("created_at").notNull(), updated_at: k.at("updated_at").notNull() };
}

/** The stamps of a record written now. */
export function stamped(now: Temporal.Instant): { created_at: IsoInstant; updated_at: IsoInstant } {
  return { created_at: iso(now), updated_at: iso(now) };
}
