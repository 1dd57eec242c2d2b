import { type ColumnKit, stamps } from "../store/columns.ts";
import { clientTable } from "../tenancy/clients/tables.ts";
import { companyColumn } from "../tenancy/companies/tables.ts";
import type { FormStructure } from "./model.ts";

export const formTable = (k: ColumnKit) =>
  k.table(
    "forms",
    {
      id: k.id(),
      name: k.text("name").notNull(),
      description: k.text("description"),
      config: k.jsonText<FormStructure>("config").notNull(),
      client_id: k.ref("client_id", clientTable).notNull(),
      ...companyColumn(k),
      is_active: k.boolean("is_active").notNull(),
      /** Deleted forms keep their row: applications may refer to it. */
      deleted_at: k.at("deleted_at"),
      ...stamps(k),
    },
    (t) => [k.index("forms_company").on(t.company_id, t.id), k.index("forms_client").on(t.client_id, t.id)],
  );
