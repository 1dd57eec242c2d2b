import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import type { SeriesQuestion } from "../series/model.ts";
import { CHARTS } from "./model.ts";

export const usageViewTable = (k: ColumnKit) =>
  k.table(
    "usage_views",
    {
      id: k.id(),
      ...companyColumn(k),
      /** Whose view it is. No reference: a shared view outlives its user. */
      user_id: k.integer("user_id").notNull(),
      name: k.text("name").notNull(),
      shared: k.boolean("shared").notNull(),
      version: k.integer("version").notNull(),
      question: k.jsonText<SeriesQuestion>("question").notNull(),
      chart: k.enumeration("chart", CHARTS),
      ...stamps(k),
    },
    (t) => [k.index("usage_views_company").on(t.company_id, t.user_id, t.id)],
  );
