import { Type } from "@sinclair/typebox";
import { invalid } from "../core/errors.ts";
import { pageFields, Search } from "../core/schema.ts";
import { describe, describeOnly } from "./wire_schema.ts";

// Parameters that tools of every family share.

export const page = pageOf(pageFields);

export function pageOf(fields: typeof pageFields) {
  return {
    page: describe(fields.page, "From 1"),
    limit: describe(fields.limit, "Default 20"),
  };
}

export const search = Type.Optional(describeOnly(Search, "Text in the name"));

/** Rejects parameters that do not apply to the chosen option. Errors: invalid. */
export function rejectUnused(chosen: string, fields: Readonly<Record<string, unknown>>): void {
  for (const [field, value] of Object.entries(fields)) {
    if (value !== undefined) throw invalid(`/${field}`, `must be left out for ${chosen}`);
  }
}
