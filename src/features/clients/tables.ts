import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn, type CompanyTables } from "../companies/tables.ts";

export function clientTables(k: ColumnKit, { companies }: CompanyTables) {
  const clients = k.table(
    "clients",
    {
      id: k.id(),
      name: k.text("name").notNull(),
      ...companyColumn(k, companies),
      /** Deleted clients keep their row: bills refer to it. */
      deleted_at: k.at("deleted_at"),
      ...stamps(k),
    },
    (t) => [k.index("clients_company").on(t.company_id, t.id)],
  );
  return { clients };
}

export type ClientTables = ReturnType<typeof clientTables>;
