import { and, eq, inArray, sql } from "drizzle-orm";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { findRow } from "../../store/list_rows.ts";
import { companyTable } from "../../tenancy/companies/tables.ts";
import { MANDATE_STATUSES } from "../mandates/model.ts";
import { isFinal } from "../mandates/rules.ts";
import type { SchemeBank } from "../scheme/connector.ts";
import { mandateTable } from "../mandates/tables.ts";
import { DEFAULTS, type StoredConfig } from "./rules.ts";
import { emandateBankListTable, emandateConfigTable } from "./tables.ts";

/** The company's configuration; the defaults, as of its creation, where it never changed any. */
export async function findConfig({ q, scope: { company_id } }: ReadTx): Promise<StoredConfig> {
  const companies = q.use(companyTable);
  const t = q.use(emandateConfigTable);
  const rows = await q
    .select({ config: t, created_at: companies.created_at })
    .from(companies)
    .leftJoin(t, eq(t.company_id, companies.id))
    .where(eq(companies.id, company_id));
  const { config, created_at } = exactlyOne(rows);
  if (config === null) return { ...DEFAULTS, company_id, updated_at: created_at };
  const { created_at: _, ...stored } = config;
  return stored;
}

/** Whether a company works with FPX: by its configuration, or for mandates that have not ended. */
export async function worksWithFpx(
  tx: ReadTx,
  { connector }: Pick<StoredConfig, "connector">,
): Promise<boolean> {
  return connector === "fpx" || (await hasFpxMandates(tx));
}

/** Whether a company has FPX mandates that have not ended, whatever its configuration says now. */
export async function hasFpxMandates({ q, scope: { company_id } }: ReadTx): Promise<boolean> {
  const t = q.use(mandateTable);
  const open = MANDATE_STATUSES.filter((status) => !isFinal(status));
  const rows = await q
    .select({ id: t.id })
    .from(t)
    // Spelled as the partial index is, so that it is used.
    .where(and(eq(t.company_id, company_id), inArray(t.status, open), sql`${t.connector} = 'fpx'`))
    .limit(1);
  return rows.length > 0;
}

export async function saveConfig({ q, now }: Tx, config: StoredConfig): Promise<void> {
  const t = q.use(emandateConfigTable);
  await q
    .insert(t)
    .values({ ...config, ...stamped(now) })
    .onConflictDoUpdate({ target: t.company_id, set: { ...config, updated_at: iso(now) } });
}

/** Replaces the encryption of the key; the configuration does not count as updated. */
export async function updateSealedKey(
  { q, scope: { company_id } }: Tx,
  private_key_sealed: string,
): Promise<void> {
  const t = q.use(emandateConfigTable);
  await q.update(t).set({ private_key_sealed }).where(eq(t.company_id, company_id));
}

/** The seller and certificate by which a callback is verified. */
export interface CallbackSeller {
  company_id: number;
  exchange_id: string;
  seller_id: string;
  scheme_certificate_pem: string;
}

/** The seller that a callback names: for the endpoint, which knows no company yet. */
export async function findCallbackSeller(
  q: Reads,
  exchange_id: string,
  seller_id: string,
): Promise<CallbackSeller | undefined> {
  const t = q.use(emandateConfigTable);
  const row = await findRow(q, t, {
    columns: { company_id: t.company_id, scheme_certificate_pem: t.scheme_certificate_pem },
    where: and(eq(t.exchange_id, exchange_id), eq(t.seller_id, seller_id)),
  });
  const pem = row?.scheme_certificate_pem ?? null;
  return row && pem !== null
    ? { company_id: row.company_id, exchange_id, seller_id, scheme_certificate_pem: pem }
    : undefined;
}

/** The company's last bank list from the scheme. */
export interface BankList {
  banks: SchemeBank[];
  asked_at: string;
  checked_at: string | null;
}

export async function findBankList({ q, scope: { company_id } }: ReadTx): Promise<BankList | undefined> {
  const t = q.use(emandateBankListTable);
  const { banks, asked_at, checked_at } = t;
  const list = await findRow(q, t, {
    columns: { banks, asked_at, checked_at },
    where: eq(t.company_id, company_id),
  });
  return list;
}

/** Records that the list was requested; the list itself stays. */
export async function recordListRequest({ q, scope: { company_id }, now }: Tx): Promise<void> {
  const t = q.use(emandateBankListTable);
  const asked_at = iso(now);
  await q
    .insert(t)
    .values({ company_id, banks: [], asked_at, checked_at: null })
    .onConflictDoUpdate({ target: t.company_id, set: { asked_at } });
}

export async function updateBankList(
  { q, scope: { company_id }, now }: Tx,
  banks: SchemeBank[],
): Promise<void> {
  const t = q.use(emandateBankListTable);
  await q
    .update(t)
    .set({ banks, checked_at: iso(now) })
    .where(eq(t.company_id, company_id));
}
