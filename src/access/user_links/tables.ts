import type { ColumnKit } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { userTable } from "../users/tables.ts";

/** Links by which users choose a password: one a user, which goes with its use and with the user. */
export const userLinkTable = (k: ColumnKit) =>
  k.table(
    "user_links",
    {
      id: k.id(),
      ...companyColumn(k),
      user_id: k.ref("user_id", userTable, { onDelete: "cascade" }).notNull(),
      /** SHA-256 of the token. */
      token_hash: k.text("token_hash").notNull(),
      expires_at: k.at("expires_at").notNull(),
    },
    (t) => [
      k.uniqueIndex("user_links_user").on(t.user_id),
      k.uniqueIndex("user_links_token").on(t.token_hash),
      k.index("user_links_expiry").on(t.company_id, t.expires_at),
    ],
  );
