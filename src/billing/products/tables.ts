import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";

export const productTable = (k: ColumnKit) =>
  k.table(
    "products",
    {
      id: k.id(),
      name: k.text("name").notNull(),
      ...companyColumn(k),
      /** Deleted products keep their row: subscriptions that have ended refer to it. */
      deleted_at: k.at("deleted_at"),
      ...stamps(k),
    },
    (t) => [k.index("products_company").on(t.company_id, t.id)],
  );
