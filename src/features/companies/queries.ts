import { asc, eq } from "drizzle-orm";
import type { Scope } from "../../core/access.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { only } from "../../store/rows.ts";
import type { Queries, Reads } from "../../store/store.ts";
import type { Company } from "./model.ts";
import { companyTable, companyTimezoneTable } from "./tables.ts";

/** Every company of the deployment: for the command line and the jobs, never for a user. */
export function listCompanies(q: Reads): Promise<Company[]> {
  const companies = q.use(companyTable);
  return q
    .select()
    .from(companies)
    .orderBy(asc(companies.id))
    .then((rows) => rows);
}

export async function findCompany(q: Reads, scope: Scope): Promise<Company | undefined> {
  const companies = q.use(companyTable);
  const [company] = await q.select().from(companies).where(eq(companies.id, scope.company_id));
  return company;
}

/** The zones that the company's billing periods were and are cut in, oldest first. */
export async function listTimezones(
  q: Reads,
  scope: Scope,
): Promise<{ timezone: string; set_at: string | null }[]> {
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
  const row = only(
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
  q: Queries,
  scope: Scope,
  now: Temporal.Instant,
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

export async function insertTimezone(
  q: Queries,
  scope: Scope,
  now: Temporal.Instant,
  timezone: string,
): Promise<void> {
  await q
    .insert(q.use(companyTimezoneTable))
    .values({ company_id: scope.company_id, timezone, set_at: iso(now) });
}
