import { sql } from "drizzle-orm";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { clientTable } from "../../tenancy/clients/tables.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";

export const billingProfileTable = (k: ColumnKit) =>
  k.table(
    "client_billing_profiles",
    {
      id: k.id(),
      ...companyColumn(k),
      client_id: k.ref("client_id", clientTable).notNull(),
      interim_at: k.decimal("interim_at"),
      currency: k.text("currency").notNull(),
      ...stamps(k),
    },
    (t) => [
      k.uniqueIndex("client_billing_profiles_client").on(t.client_id),
      k.index("client_billing_profiles_interim").on(t.company_id).where(sql`interim_at is not null`),
    ],
  );
