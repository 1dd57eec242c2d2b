import { asc, eq, sql } from "drizzle-orm";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import { preparedQuery } from "../../store/prepared_query.ts";
import type { Queries, ReadTx, Reads, Tx } from "../../store/store.ts";
import type { Company } from "./model.ts";
import { companyTable, companyTimezoneTable } from "./tables.ts";

/** All companies of the deployment: for the command line and jobs, never for a user. */
export async function listCompanies(q: Reads): Promise<Company[]> {
  const companies = q.use(companyTable);
  return q.select().from(companies).orderBy(asc(companies.id));
}

const companyById = preparedQuery<Company[]>("company_by_id", (q) => {
  const companies = q.use(companyTable);
  return q
    .select()
    .from(companies)
    .where(eq(companies.id, sql.placeholder("id")));
});

export async function findCompany({ q, scope }: ReadTx): Promise<Company | undefined> {
  const [company] = await companyById(q, { id: scope.company_id });
  return company;
}

/** The time zones of the company's billing periods, oldest first. */
export async function listTimezones({
  q,
  scope,
}: ReadTx): Promise<{ timezone: string; set_at: string | null }[]> {
  const company_timezones = q.use(companyTimezoneTable);
  return q
    .select({ timezone: company_timezones.timezone, set_at: company_timezones.set_at })
    .from(company_timezones)
    .where(eq(company_timezones.company_id, scope.company_id))
    .orderBy(asc(company_timezones.id));
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
