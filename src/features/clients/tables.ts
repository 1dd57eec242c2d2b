import { type ColumnKit, stamps } from "../../store/columns.ts";
import type { CompanyTables } from "../companies/tables.ts";

export function clientTables(k: ColumnKit, { companies }: CompanyTables) {
  const clients = k.table(
    "clients",
    {
      id: k.id(),
      name: k.text("name").notNull(),
      company_id: k
        .integer("company_id")
        .notNull()
        .references(() => companies.id),
      /** Deleted clients keep their row: bills refer to it. */
      deleted_at: k.at("deleted_at"),
      ...stamps(k),
    },
    (t) => [k.index("clients_company").on(t.company_id, t.id)],
  );
  return { clients };
}

export type ClientTables = ReturnType<typeof clientTables>;
