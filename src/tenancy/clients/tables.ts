import { type ColumnKit, lowerOrder, stamps } from "../../store/columns.ts";
import { companyColumn } from "../companies/tables.ts";

export const clientTable = (k: ColumnKit) =>
  k.table(
    "clients",
    {
      id: k.id(),
      name: k.text("name").notNull(),
      ...companyColumn(k),
      /** Deleted clients keep their row: billing records refer to it. */
      deleted_at: k.at("deleted_at"),
      ...stamps(k),
    },
    (t) => [
      k.index("clients_company").on(t.company_id, t.id),
      // Searches for names that begin with a text.
      k.index("clients_name").on(t.company_id, lowerOrder(k, t.name)),
    ],
  );
