import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";

export const emandateCustomerTable = (k: ColumnKit) =>
  k.table(
    "emandate_customers",
    {
      id: k.id(),
      ...companyColumn(k),
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
