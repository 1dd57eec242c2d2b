import { and, asc, eq, gt, inArray, isNull, lte, or, type SQL } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { insertRow } from "../../store/insert_rows.ts";
import { columnsOf, findRow, listRows, matching } from "../../store/list_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { countRows, selectRows } from "../../store/select_rows.ts";
import { ofApplications } from "../applications/queries.ts";
import type { DefinitionStatus } from "../consent_definitions/model.ts";
import { consentDefinitionTable } from "../consent_definitions/tables.ts";
import type { LoanScope } from "../scope.ts";
import { Consent } from "./model.ts";
import { consentTable } from "./tables.ts";

const consentColumns = (q: Reads) => columnsOf(q.use(consentTable), Consent);

/** An application's consents by id, whatever their status, and how many there are. */
export function listConsents(tx: ReadTx<LoanScope>, application_id: number, slice: Slice) {
  const t = tx.q.use(consentTable);
  const where = and(ofApplications(tx, t), eq(t.application_id, application_id));
  return listRows(tx.q, t, { columns: consentColumns(tx.q), where, order: asc(t.id), slice });
}

export async function findConsent(tx: ReadTx<LoanScope>, id: number): Promise<Consent | undefined> {
  const t = tx.q.use(consentTable);
  const where = and(ofApplications(tx, t), eq(t.id, id));
  return findRow(tx.q, t, { columns: consentColumns(tx.q), where });
}

export async function countConsents(tx: ReadTx<LoanScope>, application_id: number): Promise<number> {
  const t = tx.q.use(consentTable);
  return countRows(tx.q, t, and(ofApplications(tx, t), eq(t.application_id, application_id)));
}

/** The granted consent to a definition, which may have passed its expiry. */
export async function findGranted(
  tx: ReadTx<LoanScope>,
  { application_id, definition_id }: Pick<Consent, "application_id" | "definition_id">,
): Promise<Consent | undefined> {
  const t = tx.q.use(consentTable);
  const where = and(ofApplications(tx, t), matching(t, { application_id, definition_id, status: "granted" }));
  return findRow(tx.q, t, { columns: consentColumns(tx.q), where });
}

/** Whether an application has a valid consent of the code, to any version and in any locale. */
export async function hasConsentOf(
  tx: ReadTx<LoanScope>,
  { application_id, code }: Pick<Consent, "application_id" | "code">,
): Promise<boolean> {
  const t = tx.q.use(consentTable);
  const held = await countRows(
    tx.q,
    t,
    and(ofApplications(tx, t), matching(t, { application_id, code }), isValid(tx)),
  );
  return held > 0;
}

/** The valid consents of the applications, each with the status of its definition. */
export async function listActiveConsents(
  tx: ReadTx<LoanScope>,
  application_ids: readonly number[],
): Promise<{ application_id: number; code: string; version_status: DefinitionStatus }[]> {
  const t = tx.q.use(consentTable);
  const d = tx.q.use(consentDefinitionTable);
  return selectRows(tx.q, t, {
    columns: { application_id: t.application_id, code: t.code, version_status: d.status },
    joins: [[d, eq(d.id, t.definition_id)]],
    where: and(ofApplications(tx, t), inArray(t.application_id, [...application_ids]), isValid(tx)),
  });
}

/** Revokes granted consents: one by its id, or all of an application. */
export async function revokeConsents(
  tx: Tx<LoanScope>,
  which: Pick<Consent, "id"> | Pick<Consent, "application_id">,
  revoke_reason: string | null,
): Promise<Consent[]> {
  const t = tx.q.use(consentTable);
  return tx.q
    .update(t)
    .set({ status: "revoked", revoked_at: iso(tx.now), revoke_reason, updated_at: iso(tx.now) })
    .where(and(ofApplications(tx, t), matching(t, { ...which, status: "granted" })))
    .returning(consentColumns(tx.q));
}

/** Granted and not past its expiry. */
function isValid({ q, now }: ReadTx<LoanScope>): SQL | undefined {
  const t = q.use(consentTable);
  return and(eq(t.status, "granted"), or(isNull(t.expires_at), gt(t.expires_at, iso(now))));
}

/** Erases the personal data of an application's consents. */
export async function blankSubjects(tx: Tx<LoanScope>, application_id: number): Promise<void> {
  const t = tx.q.use(consentTable);
  const where = and(ofApplications(tx, t), eq(t.application_id, application_id));
  for (const { id, evidence } of await selectRows(tx.q, t, {
    columns: { id: t.id, evidence: t.evidence },
    where,
  })) {
    await tx.q
      .update(t)
      .set({
        subject_name: "",
        subject_ic_last4: null,
        evidence: { ...evidence, ip: null, user_agent: null },
        updated_at: iso(tx.now),
      })
      .where(and(ofApplications(tx, t), eq(t.id, id)));
  }
}

type NewConsent = Omit<
  Consent,
  "id" | "environment" | "status" | "revoked_at" | "revoke_reason" | "created_at" | "updated_at"
>;

export async function insertConsent(
  { q, scope: { company_id, environment }, now }: Tx<LoanScope>,
  consent: NewConsent,
): Promise<Consent> {
  const t = q.use(consentTable);
  const row = { ...consent, company_id, environment, status: "granted" as const, ...stamped(now) };
  return insertRow(q, t, row, consentColumns(q));
}

/** Marks consents past their expiry as expired: one, or at most `limit` of the company's. */
export async function expireConsents(
  { q, scope: { company_id }, now }: Tx,
  { id, limit = 1 }: { id?: number; limit?: number },
): Promise<Consent[]> {
  const t = q.use(consentTable);
  const due = and(eq(t.company_id, company_id), eq(t.status, "granted"), lte(t.expires_at, iso(now)));
  const batch = q
    .select({ id: t.id })
    .from(t)
    .where(and(due, id === undefined ? undefined : eq(t.id, id)))
    .orderBy(asc(t.id))
    .limit(limit);
  return q
    .update(t)
    .set({ status: "expired", updated_at: iso(now) })
    .where(and(inArray(t.id, batch), due))
    .returning(consentColumns(q));
}

/** The companies that have a granted consent past its expiry. */
export async function listCompaniesWithDueConsents(q: Reads, now: Temporal.Instant): Promise<number[]> {
  const t = q.use(consentTable);
  const rows = await q
    .selectDistinct({ company_id: t.company_id })
    .from(t)
    .where(and(eq(t.status, "granted"), lte(t.expires_at, iso(now))));
  return rows.map(({ company_id }) => company_id);
}
