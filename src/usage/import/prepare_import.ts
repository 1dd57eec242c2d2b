import { Type } from "@sinclair/typebox";
import { operation } from "../../app/operation.ts";
import { readTx } from "../../app/transaction.ts";
import { scopeOf } from "../../core/access.ts";
import { oneOf, strict } from "../../core/schema.ts";
import { LIMITS } from "../limits.ts";
import { listExternalIds } from "../queries.ts";
import { compositeKey } from "../subscription_key.ts";
import type { FileSource } from "./model.ts";
import { listUsageImports } from "./queries.ts";
import { readSource } from "./source.ts";

// What an import asks before its first row.

/** Lists the keys by which rows may name their subscription. See docs/usage.md#send-events. */
export const listSubscriptionKeys = operation({
  name: "list_subscription_keys",
  permission: "usage:write",
  input: strict({ subscription_field: oneOf(["external_subscription_id", "subscription_id"]) }),
  output: Type.Array(Type.String()),
  async run(ctx, { subscription_field }) {
    const external_ids: string[] = [];
    for await (const page of listExternalIds(readTx(ctx)))
      external_ids.push(...page.map(({ external_subscription_id }) => external_subscription_id));
    if (subscription_field === "external_subscription_id") return external_ids;
    const { company_id } = scopeOf(ctx.actor);
    return external_ids.map((id) => compositeKey(company_id, id));
  },
});

/** Finds earlier imports of a file's content. Decision 0122. */
export const recognizeImport = operation({
  name: "recognize_import",
  permission: "usage:write",
  input: strict({ path: Type.String(), file_name: Type.String() }),
  output: Type.Unsafe<FileSource>(Type.Any()),
  async run(ctx, { path, file_name }) {
    const known = await listUsageImports(readTx(ctx), LIMITS.usage_imports);
    return readSource(path, file_name, known);
  },
});
