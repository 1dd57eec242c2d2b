import { sql } from "drizzle-orm";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";

/** Since when and why no debit of a company goes out, until the operator releases them. Decision 0186. */
export const debitHoldTable = (k: ColumnKit) =>
  k.table(
    "debit_holds",
    {
      id: k.id(),
      ...companyColumn(k),
      reason: k.text("reason").notNull(),
      released_at: k.at("released_at"),
      ...stamps(k),
    },
    (t) => [k.uniqueIndex("debit_holds_open").on(t.company_id).where(sql`released_at IS NULL`)],
  );
