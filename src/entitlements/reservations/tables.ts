import type { ColumnKit } from "../../store/columns.ts";
import { featureTable } from "../../billing/features/tables.ts";
import { subscriptionTable } from "../../billing/subscriptions/tables.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";

/** Units held for usage to come. A row is deleted when it was settled, freed or has ended. */
export const reservationTable = (k: ColumnKit) =>
  k.table(
    "usage_reservations",
    {
      id: k.id(),
      ...companyColumn(k),
      /** The id of the event that settles it: a lower-case UUID. */
      reservation_id: k.text("reservation_id").notNull(),
      subscription_id: k.ref("subscription_id", subscriptionTable).notNull(),
      feature_id: k.ref("feature_id", featureTable).notNull(),
      units: k.decimal("units").notNull(),
      /** The values of group keys that the check named. */
      group: k.json<Record<string, string>>("group").notNull(),
      created_at: k.at("created_at").notNull(),
      expires_at: k.at("expires_at").notNull(),
    },
    (t) => [
      k.uniqueIndex("usage_reservations_id").on(t.company_id, t.reservation_id),
      k.index("usage_reservations_subscription").on(t.subscription_id),
      // What has ended is looked for every few seconds.
      k.index("usage_reservations_end").on(t.expires_at, t.company_id),
    ],
  );
