import { asc, eq, getTableColumns, sql } from "drizzle-orm";
import type { ZoneTimeline } from "../../core/periods.ts";
import { instant, iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { Queries, ReadTx, Reads, Tx } from "../../store/store.ts";
import { keptSelect } from "../../store/kept_select.ts";
import { findRow } from "../../store/list_rows.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { Company, IfUncertain, SelfService } from "./model.ts";
import { companyTable, companyTimezoneTable } from "./tables.ts";

/** On the wire what was never set is left out. */
function toCompany({
  if_uncertain,
  self_service,
  ...row
}: Omit<Company, "self_service"> & { if_uncertain: IfUncertain; self_service: SelfService | null }): Company {
  return {
    ...row,
    ...(if_uncertain === "deny" ? {} : { if_uncertain }),
    ...(self_service === null ? {} : { self_service }),
  };
}

/** All companies of the deployment: for the command line and jobs, never for a user. */
export async function listCompanies(q: Reads): Promise<Company[]> {
  const companies = q.use(companyTable);
  const rows = await selectRows(q, companies, {
    columns: getTableColumns(companies),
    order: asc(companies.id),
  });
  return rows.map(toCompany);
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
  return company && toCompany(company);
}

/** What the company's checks answer while they can't be certain. */
export async function findIfUncertain({ q, scope }: ReadTx): Promise<IfUncertain> {
  const t = q.use(companyTable);
  const row = await findRow(q, t, {
    columns: { if_uncertain: t.if_uncertain },
    where: eq(t.id, scope.company_id),
  });
  return row?.if_uncertain ?? "deny";
}

/** What the company's client users may do themselves. */
export async function findSelfService({ q, scope }: ReadTx): Promise<SelfService> {
  const t = q.use(companyTable);
  const row = await findRow(q, t, {
    columns: { self_service: t.self_service },
    where: eq(t.id, scope.company_id),
  });
  return row?.self_service ?? {};
}

const selectTimezones = keptSelect((q) => {
  const t = q.use(companyTimezoneTable);
  return {
    table: t,
    columns: { timezone: t.timezone, set_at: t.set_at },
    where: eq(t.company_id, sql.placeholder("company_id")),
    order: asc(t.id),
  };
});

/** The time zones of the company's billing periods, oldest first. */
export function listTimezones({
  q,
  scope: { company_id },
}: ReadTx): Promise<{ timezone: string; set_at: string | null }[]> {
  return selectTimezones(q, { company_id });
}

/** The company's time zones, which cut its billing periods and its calendar months. */
export async function listZones(tx: ReadTx): Promise<ZoneTimeline> {
  const rows = await listTimezones(tx);
  return rows.map(({ timezone, set_at }) => ({ timezone, from: set_at === null ? null : instant(set_at) }));
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
  return toCompany(row);
}

export async function updateCompany(
  { q, scope, now }: Tx,
  change: {
    name: string;
    timezone: string;
    currency: string;
    if_uncertain?: IfUncertain;
    self_service?: SelfService;
  },
): Promise<Company | undefined> {
  const companies = q.use(companyTable);
  const [company] = await q
    .update(companies)
    .set({ ...change, updated_at: iso(now) })
    .where(eq(companies.id, scope.company_id))
    .returning();
  return company && toCompany(company);
}

export async function insertTimezone({ q, scope, now }: Tx, timezone: string): Promise<void> {
  await q
    .insert(q.use(companyTimezoneTable))
    .values({ company_id: scope.company_id, timezone, set_at: iso(now) });
}
