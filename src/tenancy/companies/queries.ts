import { asc, eq, getTableColumns } from "drizzle-orm";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { Queries, ReadTx, Reads, Tx } from "../../store/store.ts";
import { findRow } from "../../store/list_rows.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { Company } from "./model.ts";
import { companyTable, companyTimezoneTable } from "./tables.ts";

/** All companies of the deployment: for the command line and jobs, never for a user. */
export async function listCompanies(q: Reads): Promise<Company[]> {
  const companies = q.use(companyTable);
  return selectRows(q, companies, { columns: getTableColumns(companies), order: asc(companies.id) });
}

/** Whether the deployment has more than one company. */
export async function hasSeveralCompanies(q: Reads): Promise<boolean> {
  const t = q.use(companyTable);
  return (await selectRows(q, t, { columns: { id: t.id }, limit: 2 })).length > 1;
}

export async function findCompany({ q, scope }: ReadTx): Promise<Company | undefined> {
  const companies = q.use(companyTable);
  const company = await findRow(q, companies, {
    columns: getTableColumns(companies),
    where: eq(companies.id, scope.company_id),
  });
  return company;
}

/** The time zones of the company's billing periods, oldest first. */
export async function listTimezones({
  q,
  scope,
}: ReadTx): Promise<{ timezone: string; set_at: string | null }[]> {
  const company_timezones = q.use(companyTimezoneTable);
  return selectRows(q, company_timezones, {
    columns: { timezone: company_timezones.timezone, set_at: company_timezones.set_at },
    where: eq(company_timezones.company_id, scope.company_id),
    order: asc(company_timezones.id),
  });
}

export async function insertCompany(
  q: Queries,
  now: Temporal.Instant,
  company: { name: string; timezone: string; currency: string },
): Promise<Company> {
  const row = exactlyOne(
    await q
      .insert(q.use(companyTable))
      .values({ ...company, ...stamped(now) })
      .returning(),
  );
  await q
    .insert(q.use(companyTimezoneTable))
    .values({ company_id: row.id, timezone: row.timezone, set_at: null });
  return row;
}

export async function updateCompany(
  { q, scope, now }: Tx,
  change: { name: string; timezone: string; currency: string },
): Promise<Company | undefined> {
  const companies = q.use(companyTable);
  const [company] = await q
    .update(companies)
    .set({ ...change, updated_at: iso(now) })
    .where(eq(companies.id, scope.company_id))
    .returning();
  return company;
}

export async function insertTimezone({ q, scope, now }: Tx, timezone: string): Promise<void> {
  await q
    .insert(q.use(companyTimezoneTable))
    .values({ company_id: scope.company_id, timezone, set_at: iso(now) });
}
