import { type ColumnKit, stamps } from "../../store/columns.ts";

export const companyTable = (k: ColumnKit) =>
  k.table("companies", {
    id: k.id(),
    name: k.text("name").notNull(),
    timezone: k.text("timezone").notNull(),
    currency: k.text("currency").notNull(),
    ...stamps(k),
  });

/** Which zone the company's billing periods are cut in, from when: a running period keeps its zone. */
export const companyTimezoneTable = (k: ColumnKit) =>
  k.table(
    "company_timezones",
    {
      id: k.id(),
      company_id: k.ref("company_id", companyTable).notNull(),
      timezone: k.text("timezone").notNull(),
      /** When it was set; null for the zone that the company began with. */
      set_at: k.at("set_at"),
    },
    (t) => [k.index("company_timezones_company").on(t.company_id, t.id)],
  );

/** Whose a record is: every table of a company's records begins with it. */
export const companyColumn = (k: ColumnKit) => ({ company_id: k.ref("company_id", companyTable).notNull() });
