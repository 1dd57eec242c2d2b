import { sql } from "drizzle-orm";
import { ENVIRONMENTS } from "../../core/access.ts";
import { AppError } from "../../core/errors.ts";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { loanApplicationTable } from "../applications/tables.ts";
import { consentDefinitionTable } from "../consent_definitions/tables.ts";
import { CONSENT_STATUSES, type Evidence } from "./model.ts";

export const consentTable = (k: ColumnKit) =>
  k.table(
    "consents",
    {
      id: k.id(),
      ...companyColumn(k),
      environment: k.enumeration("environment", ENVIRONMENTS).notNull(),
      application_id: k.ref("application_id", loanApplicationTable).notNull(),
      definition_id: k.ref("definition_id", consentDefinitionTable).notNull(),
      // Copied from the definition, whose text never changes once published.
      code: k.text("code").notNull(),
      version: k.integer("version").notNull(),
      locale: k.text("locale").notNull(),
      text_sha256: k.text("text_sha256").notNull(),
      status: k.enumeration("status", CONSENT_STATUSES).notNull(),
      subject_name: k.text("subject_name").notNull(),
      subject_ic_last4: k.text("subject_ic_last4"),
      evidence: k.json<Evidence>("evidence").notNull(),
      granted_at: k.at("granted_at").notNull(),
      expires_at: k.at("expires_at"),
      revoked_at: k.at("revoked_at"),
      revoke_reason: k.text("revoke_reason"),
      ...stamps(k),
    },
    (t) => [
      k.uniqueIndex("consents_granted").on(t.application_id, t.definition_id).where(sql`status = 'granted'`),
      k.index("consents_application").on(t.application_id, t.id),
      k.index("consents_expiring").on(t.company_id, t.expires_at).where(sql`status = 'granted'`),
    ],
  );

export const CONSENT_CONSTRAINTS = {
  consents_granted: () => new AppError("conflict", "Cannot grant the consent: it is granted already"),
};
