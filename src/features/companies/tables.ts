import { type ColumnKit, stamps } from "../../store/columns.ts";

export function companyTables(k: ColumnKit) {
  const companies = k.table("companies", {
    id: k.id(),
    name: k.text("name").notNull(),
    timezone: k.text("timezone").notNull(),
    currency: k.text("currency").notNull(),
    ...stamps(k),
  });
  /** Which zone the company's billing periods are cut in, from when: a running period keeps its zone. */
  const company_timezones = k.table(
    "company_timezones",
    {
      id: k.id(),
      company_id: k
        .integer("company_id")
        .notNull()
        .references(() => companies.id),
      timezone: k.text("timezone").notNull(),
      /** When it was set; null for the zone that the company began with. */
      set_at: k.at("set_at"),
    },
    (t) => [k.index("company_timezones_company").on(t.company_id, t.id)],
  );
  return { companies, company_timezones };
}

/** Whose a record is: every table of a company's records begins with it. */
export function companyColumn(k: ColumnKit, companies: CompanyTables["companies"]) {
  return {
    company_id: k
      .integer("company_id")
      .notNull()
      .references(() => companies.id),
  };
}

export type CompanyTables = ReturnType<typeof companyTables>;
