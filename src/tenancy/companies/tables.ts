import { type ColumnKit, stamps } from "../../store/columns.ts";
import { IF_UNCERTAIN, type SelfService } from "./model.ts";

export const companyTable = (k: ColumnKit) =>
  k.table("companies", {
    id: k.id(),
    name: k.text("name").notNull(),
    timezone: k.text("timezone").notNull(),
    currency: k.text("currency").notNull(),
    if_uncertain: k.enumeration("if_uncertain", IF_UNCERTAIN).notNull().default("deny"),
    /** Null: nothing was allowed yet. */
    self_service: k.json<SelfService>("self_service"),
    ...stamps(k),
  });

/** The history of a company's time zone: a running billing period keeps its own. */
export const companyTimezoneTable = (k: ColumnKit) =>
  k.table(
    "company_timezones",
    {
      id: k.id(),
      company_id: k.ref("company_id", companyTable).notNull(),
      timezone: k.text("timezone").notNull(),
      /** When it was set; null for the first one. */
      set_at: k.at("set_at"),
    },
    (t) => [k.index("company_timezones_company").on(t.company_id, t.id)],
  );

/** The column of the company that a record belongs to. */
export const companyColumn = (k: ColumnKit) => ({ company_id: k.ref("company_id", companyTable).notNull() });
