import { invalid } from "../../core/errors.ts";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { FREQUENCIES } from "../schedule.ts";

export const emandateProductTable = (k: ColumnKit) =>
  k.table(
    "emandate_products",
    {
      id: k.id(),
      ...companyColumn(k),
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

export const EMANDATE_PRODUCT_CONSTRAINTS = {
  emandate_products_code: () =>
    invalid("/product_code", "is already used by another product of this company, maybe a deleted one"),
};
