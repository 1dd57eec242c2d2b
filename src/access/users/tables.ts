import { ROLES } from "../../core/access.ts";
import { invalid } from "../../core/errors.ts";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { clientTable } from "../../tenancy/clients/tables.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";

export const userTable = (k: ColumnKit) =>
  k.table(
    "users",
    {
      id: k.id(),
      /** Lower case. Unique within its company only: a wider rule would reveal other accounts. Decision 0145. */
      email: k.text("email").notNull(),
      name: k.text("name"),
      role: k.enumeration("role", ROLES).notNull(),
      ...companyColumn(k),
      client_id: k.ref("client_id", clientTable),
      password_hash: k.text("password_hash").notNull(),
      /** Incremented when the password or role changes: tokens of an older version are refused. */
      token_version: k.integer("token_version").notNull(),
      ...stamps(k),
    },
    (t) => [
      k.uniqueIndex("users_email").on(t.email, t.company_id),
      k.index("users_company").on(t.company_id, t.id),
    ],
  );

export const USER_CONSTRAINTS = {
  users_email: () => invalid("/email", "is already used by another user of this company"),
};
