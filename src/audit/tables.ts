import { ROLES } from "../core/access.ts";
import type { ColumnKit } from "../store/columns.ts";
import { companyColumn } from "../tenancy/companies/tables.ts";
import { ACTOR_KINDS, type Change, ORIGINS, OUTCOMES, type Plain } from "./model.ts";

/** Rows are written in the transaction of their change, and never changed. */
export const auditLogTable = (k: ColumnKit) =>
  k.table(
    "audit_log",
    {
      id: k.id(),
      ...companyColumn(k),
      at: k.at("at").notNull(),
      actor_kind: k.enumeration("actor_kind", ACTOR_KINDS).notNull(),
      /** The user's id, email and role at that time; they outlive the user. */
      user_id: k.integer("user_id"),
      email: k.text("email"),
      role: k.enumeration("role", ROLES),
      /** The authorization by which an OAuth client acted. */
      authorization_id: k.integer("authorization_id"),
      /** The API key of a machine. */
      key_id: k.integer("key_id"),
      origin: k.enumeration("origin", ORIGINS).notNull(),
      address: k.text("address"),
      request_id: k.text("request_id").notNull(),
      operation: k.text("operation").notNull(),
      outcome: k.enumeration("outcome", OUTCOMES).notNull(),
      target_type: k.text("target_type").notNull(),
      target_id: k.integer("target_id"),
      input: k.json<Record<string, Plain>>("input").notNull(),
      withheld: k.json<string[]>("withheld").notNull(),
      changes: k.json<Record<string, Change>>("changes"),
    },
    (t) => [
      k.index("audit_log_company").on(t.company_id, t.at, t.id),
      k.index("audit_log_user").on(t.company_id, t.user_id, t.at),
      k.index("audit_log_key").on(t.company_id, t.key_id, t.at),
      k.index("audit_log_operation").on(t.company_id, t.operation, t.at),
      k.index("audit_log_target").on(t.company_id, t.target_type, t.target_id, t.at),
      k.index("audit_log_origin").on(t.company_id, t.origin, t.at),
    ],
  );
