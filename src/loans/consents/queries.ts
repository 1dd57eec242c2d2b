import { and, asc, desc, eq, gt, inArray, isNull, lte, max, or, type SQL } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { ofApplications } from "../applications/queries.ts";
import type { Consent, ConsentDefinition, ConsentText, DefinitionStatus } from "./model.ts";
import { consentDefinitionTable, consentTable } from "./tables.ts";
import { environmentOwned, type LoanScope } from "../scope.ts";

// Definitions.

function definitionColumns(q: Reads) {
  const t = q.use(consentDefinitionTable);
  const { id, environment, code, version, locale, title, purpose_text, data_text, data_categories } = t;
  const { audience, data_life_days, validity_days, text_sha256, status } = t;
  const { published_at, retired_at, created_at, updated_at } = t;
  return {
    id,
    environment,
    code,
    version,
    locale,
    title,
    purpose_text,
    data_text,
    data_categories,
    audience,
    data_life_days,
    validity_days,
    text_sha256,
    status,
    published_at,
    retired_at,
    created_at,
    updated_at,
  };
}

/** Which definitions are meant; every field given narrows further. */
export interface DefinitionFilter {
  code?: string;
  locale?: string;
  status?: DefinitionStatus;
}

/** Definitions by code, language and version, and how many there are in all. */
export async function listDefinitions(
  { q, scope }: ReadTx<LoanScope>,
  { code, locale, status }: DefinitionFilter,
  { limit, offset }: Slice,
): Promise<{ rows: ConsentDefinition[]; total: number }> {
  const t = q.use(consentDefinitionTable);
  const where = and(
    environmentOwned(t, scope),
    code === undefined ? undefined : eq(t.code, code),
    locale === undefined ? undefined : eq(t.locale, locale),
    status === undefined ? undefined : eq(t.status, status),
  );
  const rows = await q
    .select(definitionColumns(q))
    .from(t)
    .where(where)
    .orderBy(asc(t.code), asc(t.locale), desc(t.version))
    .limit(limit)
    .offset(offset);
  return { rows, total: await q.$count(t, where) };
}

export async function findDefinition(
  { q, scope }: ReadTx<LoanScope>,
  id: number,
): Promise<ConsentDefinition | undefined> {
  const t = q.use(consentDefinitionTable);
  const [definition] = await q
    .select(definitionColumns(q))
    .from(t)
    .where(and(environmentOwned(t, scope), eq(t.id, id)));
  return definition;
}

/** The newest version of a code in a language; 0 when there is none. */
export async function findLastVersion(
  { q, scope }: ReadTx<LoanScope>,
  { code, locale }: Pick<ConsentDefinition, "code" | "locale">,
): Promise<number> {
  const t = q.use(consentDefinitionTable);
  const [row] = await q
    .select({ version: max(t.version) })
    .from(t)
    .where(and(environmentOwned(t, scope), eq(t.code, code), eq(t.locale, locale)));
  return row?.version ?? 0;
}

export async function insertDefinition(
  { q, scope: { company_id, environment }, now }: Tx<LoanScope>,
  definition: ConsentText & Pick<ConsentDefinition, "version" | "text_sha256">,
): Promise<ConsentDefinition> {
  const t = q.use(consentDefinitionTable);
  const row = { ...definition, company_id, environment, status: "draft" as const, ...stamped(now) };
  return exactlyOne(await q.insert(t).values(row).returning(definitionColumns(q)));
}

/** Changes a definition that still has the status it was found with. Undefined when it has not. */
export async function updateDefinition(
  { q, scope, now }: Tx<LoanScope>,
  { id, status: found }: Pick<ConsentDefinition, "id" | "status">,
  change: Partial<Omit<ConsentDefinition, "id" | "environment" | "code" | "locale" | "version">>,
): Promise<ConsentDefinition | undefined> {
  const t = q.use(consentDefinitionTable);
  const [definition] = await q
    .update(t)
    .set({ ...change, updated_at: iso(now) })
    .where(and(environmentOwned(t, scope), eq(t.id, id), eq(t.status, found)))
    .returning(definitionColumns(q));
  return definition;
}

/** Retires the published version of a code in a language, if there is one. */
export async function retirePublished(
  { q, scope, now }: Tx<LoanScope>,
  { code, locale }: Pick<ConsentDefinition, "code" | "locale">,
): Promise<void> {
  const t = q.use(consentDefinitionTable);
  await q
    .update(t)
    .set({ status: "retired", retired_at: iso(now), updated_at: iso(now) })
    .where(
      and(environmentOwned(t, scope), eq(t.code, code), eq(t.locale, locale), eq(t.status, "published")),
    );
}

// Consents.

function consentColumns(q: Reads) {
  const t = q.use(consentTable);
  const { id, environment, application_id, definition_id, code, version, locale, text_sha256, status } = t;
  const { subject_name, subject_ic_last4, evidence, granted_at, expires_at } = t;
  const { revoked_at, revoke_reason, created_at, updated_at } = t;
  return {
    id,
    environment,
    application_id,
    definition_id,
    code,
    version,
    locale,
    text_sha256,
    status,
    subject_name,
    subject_ic_last4,
    evidence,
    granted_at,
    expires_at,
    revoked_at,
    revoke_reason,
    created_at,
    updated_at,
  };
}

/** An application's consents, whatever became of them, in the order in which they were granted. */
export async function listConsents(
  tx: ReadTx<LoanScope>,
  application_id: number,
  { limit, offset }: Slice,
): Promise<{ rows: Consent[]; total: number }> {
  const t = tx.q.use(consentTable);
  const where = and(ofApplications(tx, t), eq(t.application_id, application_id));
  const rows = await tx.q
    .select(consentColumns(tx.q))
    .from(t)
    .where(where)
    .orderBy(asc(t.id))
    .limit(limit)
    .offset(offset);
  return { rows, total: await tx.q.$count(t, where) };
}

export async function findConsent(tx: ReadTx<LoanScope>, id: number): Promise<Consent | undefined> {
  const t = tx.q.use(consentTable);
  const [consent] = await tx.q
    .select(consentColumns(tx.q))
    .from(t)
    .where(and(ofApplications(tx, t), eq(t.id, id)));
  return consent;
}

export function countConsents(tx: ReadTx<LoanScope>, application_id: number): Promise<number> {
  const t = tx.q.use(consentTable);
  return tx.q.$count(t, and(ofApplications(tx, t), eq(t.application_id, application_id))).then(Number);
}

/** The consent to a definition that is still granted, whether or not its time has run out. */
export async function findGranted(
  tx: ReadTx<LoanScope>,
  { application_id, definition_id }: Pick<Consent, "application_id" | "definition_id">,
): Promise<Consent | undefined> {
  const t = tx.q.use(consentTable);
  const [consent] = await tx.q
    .select(consentColumns(tx.q))
    .from(t)
    .where(
      and(
        ofApplications(tx, t),
        eq(t.application_id, application_id),
        eq(t.definition_id, definition_id),
        eq(t.status, "granted"),
      ),
    );
  return consent;
}

/** Whether an application has a consent of the code that holds at `now`, to whatever version and language. */
export async function hasConsentOf(
  tx: ReadTx<LoanScope>,
  { application_id, code }: Pick<Consent, "application_id" | "code">,
): Promise<boolean> {
  const t = tx.q.use(consentTable);
  const held = await tx.q.$count(
    t,
    and(ofApplications(tx, t), eq(t.application_id, application_id), eq(t.code, code), holdsAt(tx.q, tx.now)),
  );
  return held > 0;
}

/** The consents of some applications that hold at `now`, and what has become of the version that each is to. */
export async function listActiveConsents(
  tx: ReadTx<LoanScope>,
  application_ids: readonly number[],
): Promise<{ application_id: number; code: string; version_status: DefinitionStatus }[]> {
  const t = tx.q.use(consentTable);
  const d = tx.q.use(consentDefinitionTable);
  return tx.q
    .select({ application_id: t.application_id, code: t.code, version_status: d.status })
    .from(t)
    .innerJoin(d, eq(d.id, t.definition_id))
    .where(
      and(ofApplications(tx, t), inArray(t.application_id, [...application_ids]), holdsAt(tx.q, tx.now)),
    );
}

/** Takes back all consents of an application that are granted. */
export async function revokeConsents(
  tx: Tx<LoanScope>,
  application_id: number,
  revoke_reason: string,
): Promise<Consent[]> {
  const t = tx.q.use(consentTable);
  return tx.q
    .update(t)
    .set({ status: "revoked", revoked_at: iso(tx.now), revoke_reason, updated_at: iso(tx.now) })
    .where(and(ofApplications(tx, t), eq(t.application_id, application_id), eq(t.status, "granted")))
    .returning(consentColumns(tx.q));
}

function holdsAt(q: Reads, now: Temporal.Instant): SQL | undefined {
  const t = q.use(consentTable);
  return and(eq(t.status, "granted"), or(isNull(t.expires_at), gt(t.expires_at, iso(now))));
}

/** Blanks what an application's consents say of people. */
export async function blankSubjects(tx: Tx<LoanScope>, application_id: number): Promise<void> {
  const t = tx.q.use(consentTable);
  const where = and(ofApplications(tx, t), eq(t.application_id, application_id));
  for (const { id, evidence } of await tx.q.select({ id: t.id, evidence: t.evidence }).from(t).where(where)) {
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
  return exactlyOne(await q.insert(t).values(row).returning(consentColumns(q)));
}

/** Takes back a consent that is still granted. Undefined when it is not. */
export async function revokeConsent(
  tx: Tx<LoanScope>,
  id: number,
  revoke_reason: string | null,
): Promise<Consent | undefined> {
  const t = tx.q.use(consentTable);
  const [consent] = await tx.q
    .update(t)
    .set({ status: "revoked", revoked_at: iso(tx.now), revoke_reason, updated_at: iso(tx.now) })
    .where(and(ofApplications(tx, t), eq(t.id, id), eq(t.status, "granted")))
    .returning(consentColumns(tx.q));
  return consent;
}

/** Ends consents whose time has run out: one, or at most `limit` of the company's. */
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

/** The companies that have consents whose time has run out. */
export async function listCompaniesWithDueConsents(q: Reads, now: Temporal.Instant): Promise<number[]> {
  const t = q.use(consentTable);
  const rows = await q
    .selectDistinct({ company_id: t.company_id })
    .from(t)
    .where(and(eq(t.status, "granted"), lte(t.expires_at, iso(now))));
  return rows.map(({ company_id }) => company_id);
}
