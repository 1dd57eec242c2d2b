import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn, type CompanyTables } from "../companies/tables.ts";

export function productTables(k: ColumnKit, { companies }: CompanyTables) {
  const products = k.table(
    "products",
    {
      id: k.id(),
      name: k.text("name").notNull(),
      ...companyColumn(k, companies),
      /** Deleted products keep their row: subscriptions that have ended refer to it. */
      deleted_at: k.at("deleted_at"),
      ...stamps(k),
    },
    (t) => [k.index("products_company").on(t.company_id, t.id)],
  );
  return { products };
}

export type ProductTables = ReturnType<typeof productTables>;
