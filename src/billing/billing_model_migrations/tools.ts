import { Type } from "@sinclair/typebox";
import { call } from "../../app/operation.ts";
import { invalid } from "../../core/errors.ts";
import { Id } from "../../core/schema.ts";
import { data, dataOf } from "../../http/responses.ts";
import { tool } from "../../mcp/tool.ts";
import { describe, describeOnly } from "../../mcp/wire_schema.ts";
import { BegunMigration } from "./model.ts";
import { createBillingModelMigration, getBillingModelMigration } from "./service.ts";

const { from_billing_model_id, to_billing_model_id, at, subscription_ids, dry_run } =
  createBillingModelMigration.input.properties;

const migratePlan = tool({
  name: "billing_migrate_plan",
  title: "Move many subscriptions to another plan",
  description:
    "Moves all subscriptions on a billing model, or those named, to another one, by one plan change each. Use dry_run first, show the person how many would move and which can't, and ask. It goes on in the background: call with migration_id alone for progress and errors.",
  finds: ["migration_id"],
  operations: [createBillingModelMigration, getBillingModelMigration],
  is_destructive: true,
  takes_request_id: true,
  details: [],
  input: {
    migration_id: Type.Optional(describe(Id, "Shows this one, and moves nothing")),
    from_billing_model_id: Type.Optional(describe(from_billing_model_id, "The model that they are on")),
    to_billing_model_id: Type.Optional(describe(to_billing_model_id, "The model to move to")),
    at: Type.Optional(describeOnly(at, "next_period (of each one) or an instant")),
    subscription_ids: describe(subscription_ids, "Only these"),
    dry_run: describe(dry_run, "Moves nothing, and shows what it would"),
  },
  output: dataOf(Type.Partial(BegunMigration)),
  run(ctx, { migration_id, from_billing_model_id: from, to_billing_model_id: to, at: when, ...rest }) {
    if (migration_id !== undefined) return data(call(ctx, getBillingModelMigration, { id: migration_id }));
    if (from === undefined) throw invalid("/from_billing_model_id", "is required without migration_id");
    if (to === undefined) throw invalid("/to_billing_model_id", "is required without migration_id");
    if (when === undefined) throw invalid("/at", "is required without migration_id");
    const models = { from_billing_model_id: from, to_billing_model_id: to };
    return data(call(ctx, createBillingModelMigration, { ...models, at: when, ...rest }));
  },
});

export const migrationTools = [migratePlan];
