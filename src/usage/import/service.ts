import { Type } from "@sinclair/typebox";
import { operation } from "../../app/operation.ts";
import { Nothing, oneOf, strict } from "../../core/schema.ts";
import { FILE_FORMATS } from "./file_head.ts";

/**
 * Writes the audit entry of an import, before its first row is stored: events are in another store, which no
 * transaction spans. Decision 0075.
 */
export const startUsageImport = operation({
  name: "start_usage_import",
  permission: "usage:write",
  target: "usage_import",
  input: strict({ file: Type.String(), format: oneOf(FILE_FORMATS) }),
  output: Nothing,
  run: ({ store }) => store.tx(async () => ({})),
});
