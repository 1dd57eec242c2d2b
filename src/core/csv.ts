import { Kind, type TSchema } from "@sinclair/typebox";
import { stringify } from "csv-stringify/sync";

/** Rows as CSV (RFC 4180). A text that a spreadsheet would run as a formula gets an apostrophe in front; numbers may be below zero. */
export function csv(rows: readonly (readonly string[])[]): string {
  const safe = rows.map((row) =>
    row.map((value) => (/^[=+@\t\r]|^-(?![\d.]+$)/.test(value) ? `'${value}` : value)),
  );
  return stringify(safe, { record_delimiter: "\r\n" });
}

/** A column of records: its name, and the fields that lead to it. */
interface Column {
  name: string;
  path: readonly string[];
}

/** The columns of a record by its schema: records inside of it by `client.name`; null where it is no record. */
export function columnsOfRecord(schema: TSchema): readonly Column[] | null {
  if (schema[Kind] !== "Object" || schema.properties === undefined) return null;
  const columns = columnsBelow(schema, []);
  return columns.length === 0 ? null : columns;
}

function columnsBelow(schema: TSchema, path: readonly string[]): Column[] {
  return Object.entries<TSchema>(schema.properties).flatMap(([name, field]) => {
    const place = [...path, name];
    const is_record = field[Kind] === "Object" && Object.keys(field.properties ?? {}).length > 0;
    return is_record ? columnsBelow(field, place) : [{ name: place.join("."), path: place }];
  });
}

/** Records as CSV with a header; lists and what has no fixed fields are JSON. */
export function csvOfRecords(columns: readonly Column[], records: readonly unknown[]): string {
  const rows = records.map((record) => columns.map(({ path }) => textOf(valueAt(record, path))));
  return csv([columns.map(({ name }) => name), ...rows]);
}

function valueAt(record: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, name) =>
      typeof value === "object" && value !== null
        ? Object.getOwnPropertyDescriptor(value, name)?.value
        : undefined,
    record,
  );
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
