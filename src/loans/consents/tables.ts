import { sql } from "drizzle-orm";
import { ENVIRONMENTS } from "../../core/access.ts";
import { AppError } from "../../core/errors.ts";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { loanApplicationTable } from "../applications/tables.ts";
import { CONSENT_STATUSES, DEFINITION_STATUSES, type Evidence } from "./model.ts";

export const consentDefinitionTable = (k: ColumnKit) =>
  k.table(
    "consent_definitions",
    {
      id: k.id(),
      ...companyColumn(k),
      environment: k.enumeration("environment", ENVIRONMENTS).notNull(),
      code: k.text("code").notNull(),
      version: k.integer("version").notNull(),
      locale: k.text("locale").notNull(),
      title: k.text("title").notNull(),
      purpose_text: k.text("purpose_text").notNull(),
      data_text: k.text("data_text").notNull(),
      data_categories: k.json<string[]>("data_categories").notNull(),
      audience: k.text("audience").notNull(),
      data_life_days: k.integer("data_life_days"),
      validity_days: k.integer("validity_days"),
      text_sha256: k.text("text_sha256").notNull(),
      status: k.enumeration("status", DEFINITION_STATUSES).notNull(),
      published_at: k.at("published_at"),
      retired_at: k.at("retired_at"),
      ...stamps(k),
    },
    (t) => [
      k
        .uniqueIndex("consent_definitions_version")
        .on(t.company_id, t.environment, t.code, t.locale, t.version),
      k
        .uniqueIndex("consent_definitions_published")
        .on(t.company_id, t.environment, t.code, t.locale)
        .where(sql`status = 'published'`),
    ],
  );

export const consentTable = (k: ColumnKit) =>
  k.table(
    "consents",
    {
      id: k.id(),
      ...companyColumn(k),
      environment: k.enumeration("environment", ENVIRONMENTS).notNull(),
      application_id: k.ref("application_id", loanApplicationTable).notNull(),
      definition_id: k.ref("definition_id", consentDefinitionTable).notNull(),
      // As they were in the definition, which nothing changes once it is published.
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

export const LOAN_CONSENT_CONSTRAINTS = {
  consent_definitions_version: () =>
    new AppError("conflict", "Cannot create the consent definition: its code has that version already"),
  consent_definitions_published: () =>
    new AppError("conflict", "Cannot publish the consent definition: another version was published just now"),
  consents_granted: () => new AppError("conflict", "Cannot grant the consent: it is granted already"),
};
