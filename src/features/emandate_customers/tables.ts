import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn, type CompanyTables } from "../companies/tables.ts";

export function emandateCustomerTables(k: ColumnKit, { companies }: CompanyTables) {
  const emandate_customers = k.table(
    "emandate_customers",
    {
      id: k.id(),
      ...companyColumn(k, companies),
      name: k.text("name").notNull(),
      /** Lower case: customers are matched by it. */
      email: k.text("email").notNull(),
      /** E.164. */
      phone: k.text("phone"),
      /** Twelve digits. */
      ic_number: k.text("ic_number"),
      ...stamps(k),
    },
    (t) => [
      k.uniqueIndex("emandate_customers_email").on(t.company_id, t.email),
      k.index("emandate_customers_company").on(t.company_id, t.id),
    ],
  );
  return { emandate_customers };
}

export type EmandateCustomerTables = ReturnType<typeof emandateCustomerTables>;
