import { sql } from "drizzle-orm";
import { ENVIRONMENTS, KEY_ROLES } from "../../core/access.ts";
import { AppError } from "../../core/errors.ts";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";

export const apiKeyTable = (k: ColumnKit) =>
  k.table(
    "api_keys",
    {
      id: k.id(),
      ...companyColumn(k),
      clientId: k.text("clientId").notNull(),
      name: k.text("name").notNull(),
      role: k.enumeration("role", KEY_ROLES).notNull(),
      environment: k.enumeration("environment", ENVIRONMENTS).notNull(),
      /** Of the newest secret: 256 random bits need one round of SHA-256. */
      secret_hash: k.text("secret_hash").notNull(),
      last4: k.text("last4").notNull(),
      /** Incremented by each rotation: a token ends with the secret that it was exchanged for. */
      secret_version: k.integer("secret_version").notNull(),
      /** The previous secret, while it is valid. */
      old_secret_hash: k.text("old_secret_hash"),
      old_secret_ends_at: k.at("old_secret_ends_at"),
      /** The revoked key that this one replaces, and the first of their chain; null for a key that replaces none. */
      replaces_id: k.integer("replaces_id"),
      first_key_id: k.integer("first_key_id"),
      last_used_at: k.at("last_used_at"),
      /** Revoked keys keep their row: the audit log and what they made refer to them. */
      revoked_at: k.at("revoked_at"),
      ...stamps(k),
    },
    (t) => [
      k.uniqueIndex("api_keys_client_id").on(t.clientId),
      k.index("api_keys_company").on(t.company_id, t.id),
      // Of many concurrent replacements of a key, one succeeds.
      k.uniqueIndex("api_keys_replaces").on(t.replaces_id).where(sql`replaces_id IS NOT NULL`),
    ],
  );

export const API_KEY_CONSTRAINTS = {
  api_keys_replaces: () =>
    new AppError("conflict", "Cannot create the API key: another one replaces that key already"),
};
