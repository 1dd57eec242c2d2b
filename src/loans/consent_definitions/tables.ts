import { sql } from "drizzle-orm";
import { ENVIRONMENTS } from "../../core/access.ts";
import { AppError } from "../../core/errors.ts";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { DEFINITION_STATUSES } from "./model.ts";

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

export const CONSENT_DEFINITION_CONSTRAINTS = {
  consent_definitions_version: () =>
    new AppError("conflict", "Cannot create the consent definition: its code already has that version"),
  consent_definitions_published: () =>
    new AppError("conflict", "Cannot publish the consent definition: another version was published just now"),
};
