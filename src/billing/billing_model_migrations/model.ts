import { type Static, Type } from "@sinclair/typebox";
import { InstantText } from "../../core/instants.ts";
import { At, Id, nullable, oneOf, pageFields, sortedBy, strict } from "../../core/schema.ts";
import { NEXT_PERIOD } from "../billing_model_changes/model.ts";
import { LIMITS } from "../limits.ts";

export const MIGRATION_STATUSES = ["running", "finished"] as const;

const MigrationCounts = Type.Object(
  {
    subscriptions: Type.Integer({ minimum: 0, description: "to be moved" }),
    changed: Type.Integer({ minimum: 0, description: "that have their change, scheduled or applied" }),
    failed: Type.Integer({ minimum: 0, description: "that could not be changed" }),
  },
  { title: "BillingModelMigrationCounts" },
);
export type MigrationCounts = Static<typeof MigrationCounts>;

const MigrationError = Type.Object(
  { subscription_id: Id, message: Type.String() },
  { title: "BillingModelMigrationError" },
);
export type MigrationError = Static<typeof MigrationError>;

/** The move of many subscriptions from one billing model to another, by a change of each. Decision 0246. */
export const BillingModelMigration = Type.Object(
  {
    id: Id,
    company_id: Id,
    from_billing_model_id: Id,
    to_billing_model_id: Id,
    at: Type.String({ description: "next_period, or an instant" }),
    status: oneOf(MIGRATION_STATUSES),
    counts: MigrationCounts,
    requested_by: nullable(Id),
    finished_at: nullable(At),
    created_at: At,
    updated_at: At,
  },
  { title: "BillingModelMigration" },
);
export type BillingModelMigration = Static<typeof BillingModelMigration>;

const errors = Type.Array(MigrationError, { description: `the first ${LIMITS.migration_errors}` });

export const BillingModelMigrationDetail = Type.Object(
  { ...BillingModelMigration.properties, errors },
  { title: "BillingModelMigrationDetail" },
);
export type BillingModelMigrationDetail = Static<typeof BillingModelMigrationDetail>;

/** A migration as it was begun, or what a dry run found, which has no id. */
export const BegunMigration = Type.Object(
  { ...BillingModelMigrationDetail.properties, id: Type.Optional(Id), dry_run: Type.Boolean() },
  { title: "BegunBillingModelMigration" },
);

export const CreateBillingModelMigration = strict(
  {
    from_billing_model_id: Id,
    to_billing_model_id: Id,
    at: Type.Union([Type.Literal(NEXT_PERIOD), InstantText], {
      description: "next_period: for each the end of its running period; or an ISO 8601 instant",
    }),
    subscription_ids: Type.Optional(
      Type.Array(Id, { minItems: 1, maxItems: LIMITS.migration_subscriptions, uniqueItems: true }),
    ),
    dry_run: Type.Optional(Type.Boolean()),
  },
  {
    title: "CreateBillingModelMigration",
    examples: [{ from_billing_model_id: 1, to_billing_model_id: 2, at: "next_period", dry_run: true }],
  },
);

export const ListBillingModelMigrations = strict({ sort: sortedBy(["id", "created_at"]), ...pageFields });
