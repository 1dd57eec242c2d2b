import type { ColumnKit } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { userTable } from "../users/tables.ts";

/** Signed-in browsers, found by the token in their cookie. A session goes with its user. */
export const browserSessionTable = (k: ColumnKit) =>
  k.table(
    "browser_sessions",
    {
      id: k.id(),
      ...companyColumn(k),
      user_id: k.ref("user_id", userTable, { onDelete: "cascade" }).notNull(),
      /** SHA-256 of the token. */
      token_hash: k.text("token_hash").notNull(),
      /** The user's when it signed in: a new password or role ends the session. */
      token_version: k.integer("token_version").notNull(),
      /** Where it signed in from, and the browser as it calls itself. */
      address: k.text("address"),
      user_agent: k.text("user_agent"),
      created_at: k.at("created_at").notNull(),
      /** Some minutes behind. Decision 0290. */
      last_used_at: k.at("last_used_at").notNull(),
    },
    (t) => [
      k.uniqueIndex("browser_sessions_token").on(t.token_hash),
      k.index("browser_sessions_user").on(t.user_id, t.id),
      k.index("browser_sessions_used").on(t.company_id, t.last_used_at),
    ],
  );
