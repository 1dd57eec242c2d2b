import { invalid } from "../../core/errors.ts";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn, type CompanyTables } from "../companies/tables.ts";
import { FREQUENCIES } from "./model.ts";

export function emandateProductTables(k: ColumnKit, { companies }: CompanyTables) {
  const emandate_products = k.table(
    "emandate_products",
    {
      id: k.id(),
      ...companyColumn(k, companies),
      product_code: k.text("product_code").notNull(),
      product_name: k.text("product_name").notNull(),
      max_amount: k.sen("max_amount").notNull(),
      max_no_debit: k.text("max_no_debit").notNull(),
      frequency: k.enumeration("frequency", FREQUENCIES).notNull(),
      is_active: k.boolean("is_active").notNull(),
      /** Deleted products keep their row and their code: mandates refer to them. */
      deleted_at: k.at("deleted_at"),
      ...stamps(k),
    },
    (t) => [
      k.uniqueIndex("emandate_products_code").on(t.company_id, t.product_code),
      k.index("emandate_products_company").on(t.company_id, t.id),
    ],
  );
  return { emandate_products };
}

export type EmandateProductTables = ReturnType<typeof emandateProductTables>;

export const EMANDATE_PRODUCT_CONSTRAINTS = {
  emandate_products_code: () =>
    invalid("/product_code", "is already used by another product of this company, maybe a deleted one"),
};
