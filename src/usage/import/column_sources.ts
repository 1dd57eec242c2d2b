import type { DuckDBConnection } from "@duckdb/node-api";
import { ROLES, type Role, type RoleValues } from "./columns_sql.ts";
import { type FileTable, quoteName } from "./file_tables.ts";

/** The source of each role: a column or an expression over columns; by default the wire's name. */
export type RoleSources = Partial<Record<Role, string>>;

/** The column or expression of each role; optional roles may have neither. */
export interface ChosenSources {
  columns: Map<Role, string>;
  expressions: Map<Role, string>;
  /** The subscription is the wire's subscription_id, `<company_id>:<external id>`. */
  composite: boolean;
}

const DEFAULTS: Record<Role, readonly string[]> = {
  subscription: ["external_subscription_id", "subscription_id"],
  timestamp: ["timestamp"],
  usage: ["usage"],
  id: ["id"],
  metadata: ["metadata"],
};

export const OPTIONAL_ROLES: readonly Role[] = ["id", "metadata"];

/** Bounds of the columns that an error lists. */
const SHOWN_COLUMNS = 50;
const SHOWN_LENGTH = 100;

/** Errors: throws an Error when a required role has no column. */
export function chooseSources({ columns }: FileTable, sources: RoleSources): ChosenSources {
  const chosen: ChosenSources = { columns: new Map(), expressions: new Map(), composite: false };
  const columnNamed = (name: string) =>
    columns.find((column) => column === name) ??
    columns.find((column) => column.toLowerCase() === name.toLowerCase());
  for (const role of ROLES) {
    const source = sources[role];
    if (source !== undefined) {
      const column = columnNamed(source);
      if (column === undefined) chosen.expressions.set(role, source);
      else chosen.columns.set(role, column);
      continue;
    }
    const fallback = DEFAULTS[role].find((name) => columns.includes(name));
    if (fallback !== undefined) {
      chosen.columns.set(role, fallback);
      if (role === "subscription") chosen.composite = fallback === "subscription_id";
    } else if (!OPTIONAL_ROLES.includes(role)) {
      const column_list = columns
        .slice(0, SHOWN_COLUMNS)
        .map((column) => JSON.stringify(column.slice(0, SHOWN_LENGTH)));
      throw new Error(
        `it has no column ${DEFAULTS[role].join(" or ")}, only ${column_list.join(", ")}; say --${role} with a column or an expression`,
      );
    }
  }
  return chosen;
}

/** The columns that are read as raw text, where the format has text. */
export function rawColumns(table: FileTable, { columns }: ChosenSources): Map<string, string> {
  return table.raw ? new Map([...columns].map(([role, column]) => [rawName(role), column])) : new Map();
}

const rawName = (role: Role) => `raw ${role}`;

/** The SQL and type of each role; an expression that fails on a row gives null there. */
export async function valuesOf(
  connection: DuckDBConnection,
  table: FileTable,
  { columns, expressions }: ChosenSources,
  from: string,
): Promise<RoleValues> {
  const values = new Map<Role, { sql: string; type: string }>();
  for (const role of ROLES) {
    const column = columns.get(role);
    const plain = column === undefined ? undefined : quoteName(table.raw ? rawName(role) : column);
    const value = plain ?? expressions.get(role);
    if (value === undefined) {
      values.set(role, ABSENT);
      continue;
    }
    const written = asWritten(role, value, await typeOf(connection, value, from));
    // A column can't fail as it is: TRY would take half as long as reading it.
    const sql = written === `(${plain})` ? written : `TRY(${written})`;
    values.set(role, { sql, type: await typeOf(connection, written, from) });
  }
  return values;
}

export const ABSENT = { sql: "NULL::VARCHAR", type: "VARCHAR" };

async function typeOf(connection: DuckDBConnection, value: string, from: string): Promise<string> {
  const [described] = await textRows(connection, `DESCRIBE SELECT (${value}) AS value FROM ${from}`);
  return described?.[1] ?? "";
}

/** A value in the form that files use: instants in ms, objects as JSON. */
function asWritten(role: Role, value: string, type: string): string {
  if (role === "metadata" && type !== "VARCHAR" && type !== "JSON") return `to_json(${value})`;
  if (role !== "timestamp") return `(${value})`;
  if (type === "TIMESTAMP WITH TIME ZONE") return `epoch_ms(${value})`;
  return /^(DATE$|TIMESTAMP)/.test(type) ? `epoch_ms(CAST((${value}) AS TIMESTAMP))` : `(${value})`;
}

/** The rows of a statement whose columns are text. */
export async function textRows(connection: DuckDBConnection, sql: string): Promise<(string | null)[][]> {
  const rows = await (await connection.run(sql)).getRows();
  return rows.map((values) => values.map(textOrNull));
}

export function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
