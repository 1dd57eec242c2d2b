import { expect } from "bun:test";
import type { Json } from "../support/harness.ts";

// Fields with their types, as the interface document lists them.

export const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
export const stamps = { created_at: DATE_TIME, updated_at: DATE_TIME };
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

type Kind = "integer" | "number" | "string" | "boolean" | "object" | RegExp;
export type Shape = Record<string, Kind>;

export function expectShape(record: Json, shape: Shape): void {
  for (const [field, kind] of Object.entries(shape)) {
    const value = record[field];
    if (kind instanceof RegExp) expect(value, field).toMatch(kind);
    else if (kind === "integer") expect(value, field).toBeInteger();
    else expect(typeof value, field).toBe(kind);
  }
}

/** One page of a list, or a whole list. */
export function expectList(body: Json, shape: Shape): void {
  expect(body.data).toBeArray();
  expect(body.data.length).toBeGreaterThan(0);
  for (const record of body.data) expectShape(record, shape);
}
